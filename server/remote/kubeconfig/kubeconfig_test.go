package kubeconfig_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/server/remote/kubeconfig"
)

// written is a kubeconfig whose current context is of a cluster and a namespace.
func written(current, host, namespace string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":%q,"clusters":[{"name":%q,"cluster":{"server":%q}}],
"contexts":[{"name":%q,"context":{"cluster":%q,"namespace":%q}}]}`, current, current, host, current, current, namespace)
}

// folder holds kubeconfigs of two clusters, and some that are wrong. It returns the paths of its files.
func folder(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one": written("one", "https://one", "shop"), "two": written("two", "https://two", ""), "nonsense": "nonsense: [",
		"unchosen": `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://x"}}]}`,
		"gone":     `{"apiVersion":"v1","kind":"Config","current-context":"gone","clusters":[{"name":"c","cluster":{"server":"https://x"}}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

func TestAClusterIsFoundAsKubectlDoes(t *testing.T) {
	file := folder(t)
	both := file("one") + string(filepath.ListSeparator) + file("two") + string(filepath.ListSeparator) + file("absent")
	for name, test := range map[string]struct{ file, context, environment, named, namespace, host string }{
		"the current context of the first file": {"", "", both, "one", "shop", "https://one"},
		"a context of another file":             {"", "two", both, "two", "default", "https://two"},
		"a file before the environment":         {file("two"), "", file("one"), "two", "default", "https://two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.environment)
			found, err := kubeconfig.Find(test.file, test.context)
			if err != nil {
				t.Fatal(err)
			}
			if found.Context != test.named || found.Namespace != test.namespace || found.Config.Host != test.host {
				t.Errorf("found %+v, host %s", found, found.Config.Host)
			}
			if want := "context " + test.named; found.String() != want {
				t.Errorf("it is called %q, want %q", found, want)
			}
		})
	}
}

func TestWhereNoClusterIsFoundItSaysWhereItHasLooked(t *testing.T) {
	file := folder(t)
	for name, test := range map[string]struct {
		file, context, environment string
		absent                     bool // no cluster is named anywhere
		wants                      []string
	}{
		"an unknown context":     {"", "three", file("one"), false, []string{`--context: no context is called "three": there are one`}},
		"no context is chosen":   {file("unchosen"), "", "", false, []string{"no context is chosen: name one with --context"}},
		"the current one is not": {file("gone"), "", "", false, []string{`current-context: no context is called "gone": it has none`}},
		"an absent file":         {file("absent"), "", file("one"), false, []string{"--kubeconfig: ", "absent: no such file"}},
		"nonsense":               {file("nonsense"), "", "", false, []string{file("nonsense")}},
		"the environment names no file that is there": {
			"", "", file("absent"), true,
			[]string{"no cluster is named, looked at: --kubeconfig, which is not given; " + file("absent") + ", by $KUBECONFIG; name one with"},
		},
		"the same with a context": {"", "one", file("absent"), true, []string{"no cluster is named", "by $KUBECONFIG"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.environment)
			t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1") // a pod's own cluster is none that was asked for here
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			_, err := kubeconfig.Find(test.file, test.context)
			if err == nil {
				t.Fatal("a cluster is found")
			}
			if _, absent := errors.AsType[*kubeconfig.AbsenceError](err); absent != test.absent {
				t.Errorf("that none is named is %v, want %v", absent, test.absent)
			}
			for _, want := range test.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}
