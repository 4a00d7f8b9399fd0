package extender_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/e2e/lab"
)

func TestAMalformedConfigurationEndsTheProcessBeforeItServes(t *testing.T) {
	c := newCluster(t)
	for name, test := range map[string]struct{ config, want string }{
		"a value that is not supported": {
			"profiles: [{schedulerName: default-scheduler, nodeSelection: Best}]",
			`profiles[0].nodeSelection: Unsupported value: "Best": supported values: "Scheduler", "Muster"`,
		},
		"a field that does not exist": {"serving: {port: 8888}", `serving.port: `},
		"a value out of range":        {"timeouts: {bind: -1s}", `timeouts.bind: Invalid value: "-1s"`},
		"a value of the wrong type":   {"nomination: {minSaving: [4ms]}", `nomination.minSaving: `},
		"no YAML":                     {"serving: [", "yaml: line 3: "},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "muster.yaml")
			text := "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n" + test.config
			c.Must(os.WriteFile(file, []byte(text), 0o600))
			cmd := exec.CommandContext(t.Context(), lab.Program(c.T), "serve", "--config="+file, "--kubeconfig="+c.Kubeconfig())
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit status 1", err)
			}
			if want := "muster: " + file + ": " + test.want; !strings.Contains(stderr.String(), want) {
				t.Errorf("standard error is\n%s\nwant it to contain\n%s", &stderr, want)
			}
			if stdout.Len() > 0 || strings.Contains(stderr.String(), "msg=serving") {
				t.Errorf("it served before it ended:\n%s%s", &stdout, &stderr)
			}
		})
	}
}
