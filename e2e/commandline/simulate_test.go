package commandline

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/e2e/binaries"
)

// Virtual time is made by package testing, in a program that is no test.
func TestTheProgramSimulatesTimeAndHasNoFlagsOfTests(t *testing.T) {
	muster, err := binaries.BuildMuster(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (stdout []byte) {
		cmd := exec.CommandContext(t.Context(), muster, args...)
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Fatalf("muster %s: %v: %s", strings.Join(args, " "), err, &stderr)
		}
		return out.Bytes()
	}
	jobs := filepath.Join("..", "..", "cmd", "muster", "testdata", "jobs.csv")
	simulate := []string{"simulate", "--trace", jobs, "--nodes", "4:cpu=4,memory=16Gi", "--for", "30m", "-o", "json"}
	var answer struct {
		Runs []struct {
			Started int     `json:"started"`
			Seconds float64 `json:"seconds"`
		} `json:"runs"`
	}
	first := run(simulate...)
	if err := json.Unmarshal(first, &answer); err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	if len(answer.Runs) != 1 || answer.Runs[0].Started < 100 || answer.Runs[0].Seconds != 1800 {
		t.Errorf("it is said %+v", answer.Runs)
	}
	if again := run(simulate...); !bytes.Equal(first, again) {
		t.Errorf("the same input has two answers:\n%s\n%s", first, again)
	}
	if help := run("simulate", "--help"); bytes.Contains(help, []byte("test.")) {
		t.Errorf("the help has flags of tests:\n%s", help)
	}
}
