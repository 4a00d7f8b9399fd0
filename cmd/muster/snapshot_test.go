package main

import (
	"bytes"
	"strings"
	"testing"
)

// says returns what a command prints for a standard input, and its error.
func says(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestADumpIsAskedHowItFares(t *testing.T) {
	out, err := says(t, "", "status", "--snapshot", "testdata/fragmented.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "2 nodes, 2 pods on them, 1 pending") ||
		!strings.Contains(out, "of a snapshot, and of no cluster that runs: testdata/fragmented.yaml") || strings.Contains(out, "rescheduler") {
		t.Errorf("it says:\n%s", out)
	}
}

func TestGangsOfADumpAreKnownAndWhatTheyLack(t *testing.T) {
	for args, want := range map[string]string{
		"status":                    "gangs          2 waiting, 0 starting, 0 started",
		"explain pod lab/trainer-1": "waits as a member of gang lab/training, pending: waiting for 1 more of 3 members to be created",
		"explain pod lab/sweep-0":   "waits as a member of gang lab/sweep, pending: all of its members were waiting",
		"why gang lab/training":     "1 more are to be created",
	} {
		out, _ := says(t, "", append(strings.Fields(args), "--snapshot", "testdata/gang.yaml")...)
		if !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", args, want, out)
		}
	}
}

func TestAManifestThatIsTooLargeIsRefused(t *testing.T) {
	_, err := says(t, strings.Repeat("#", maxManifest+1), "explain", "pod", "-f", "-", "--snapshot", "testdata/fragmented.yaml")
	if err == nil || !strings.Contains(err.Error(), "--filename: - has more than 3145728 bytes") {
		t.Errorf("error %v", err)
	}
}
