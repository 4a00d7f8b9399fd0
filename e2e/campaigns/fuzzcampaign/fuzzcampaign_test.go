package fuzzcampaign

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/binaries"
)

func TestTheTargetsOfTheModuleAreFound(t *testing.T) {
	module, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	targets, err := Targets(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Target{
		{"server/extender", "FuzzVerbs"}, {"server/wire", "FuzzArgs"}, {"api/bounded", "FuzzDecode"}, {"loadaware/nodemetric", "FuzzTrim"},
	} {
		if !slices.Contains(targets, want) {
			t.Errorf("%s is not among %v", want, targets)
		}
	}
}

func TestWhatGoTestSays(t *testing.T) {
	const running = "fuzz: elapsed: 0s, gathering baseline coverage: 0/45 completed\nfuzz: elapsed: 3s, execs: 3241 (1080/sec), new " +
		"interesting: 18 (total: 63)\n"
	for name, test := range map[string]struct {
		output string
		failed bool
		want   Outcome
	}{
		"nothing found": {
			running + "fuzz: elapsed: 6s, execs: 9171 (1977/sec), new interesting: 31 (total: 76)\nPASS\nok  \tx\t6.1s\n", false,
			Outcome{Execs: 9171, Interesting: 31},
		},
		"an input": {
			running + "--- FAIL: FuzzX (1s)\n    x_test.go:7: wrong\n    Failing input written to testdata/fuzz/FuzzX/1\n", true,
			Outcome{3241, 18, "--- FAIL: FuzzX (1s)\n    x_test.go:7: wrong\n    Failing input written to testdata/fuzz/FuzzX/1"},
		},
		"a seed": {
			"failure while testing seed corpus entry: FuzzX/seed#0\n", true,
			Outcome{Failure: "failure while testing seed corpus entry: FuzzX/seed#0"},
		},
		"the time was up": {
			running + "--- FAIL: FuzzX (3.01s)\n    context deadline exceeded\nFAIL\n", true, Outcome{Execs: 3241, Interesting: 18},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, outcome(test.output, test.failed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A module of a target that fails and one that does not stands for ours.
func TestACampaignFindsATargetThatFails(t *testing.T) {
	if testing.Short() {
		t.Skip("it fuzzes, beside what it takes to build that: make test-long runs this")
	}
	module := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a/a_test.go": `package a

import "testing"

func FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }

func FuzzBad(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, _ []byte) { t.Error("it is bad") })
}
`,
		"server/s_test.go": `package server

import "testing"

func TestNoBodyTakesManyTimesItsSize(t *testing.T) { t.Log("figure body_amplification=1.5") }
`,
		"below/go.mod":       "module example.com/below\n",
		"below/b_test.go":    "package below\n\nfunc FuzzBelow(f *testing.F) {}\n",
		"testdata/t_test.go": "func FuzzData(f *testing.F) {}\n",
	} {
		path := filepath.Join(module, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	targets, err := Targets(module)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Target{{"a", "FuzzGood"}, {"a", "FuzzBad"}}, targets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	err = Run(t.Context(), Options{Module: module, Targets: targets, Time: 2 * time.Second, Parallel: 1, Out: &out})
	if err == nil || err.Error() != "1 of 2 targets failed" {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{
		"a FuzzBad: 0 execs", "it is bad", "figure fuzz_targets=2\n", "figure fuzz_failures=1\nfigure body_amplification=1.5\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}
