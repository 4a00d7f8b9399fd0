package testtimes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const run = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestOne"}
what a program writes
{"Action":"pass","Package":"m/a","Test":"TestOne/of it","Elapsed":3}
{"Action":"pass","Package":"m/a","Test":"TestOne","Elapsed":4}
{"Action":"fail","Package":"m/a","Test":"TestTwo","Elapsed":12}
{"Action":"fail","Package":"m/a","Elapsed":16.04}
{"Action":"skip","Package":"m/empty","Elapsed":0}
{"Action":"pass","Package":"m/b","Elapsed":15}`

const again = `{"Action":"pass","Package":"m/c","Elapsed":1}
{"Action":"pass","Package":"m/b","Elapsed":20}
`

func read(t *testing.T) *Times {
	t.Helper()
	times, err := Read(strings.NewReader(run), strings.NewReader(again))
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func TestTheSlowestAreShown(t *testing.T) {
	var out strings.Builder
	read(t).Print(&out, 2)
	want := `slowest packages, in seconds
    35.0  m/b
    16.0  m/a
slowest tests, in seconds
    12.0  m/a  TestTwo
     4.0  m/a  TestOne
    52.0  in all, over 4 packages
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestNothingWasRun(t *testing.T) {
	times, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if times.Print(&out, 10); !strings.Contains(out.String(), "0.0  in all, over 0 packages") {
		t.Errorf("printed %s", out.String())
	}
	if over := (Budget{}).Over(times); len(over) > 0 {
		t.Errorf("over: %v", over)
	}
}

func TestAPackageMayTakeHalfAsLongAgainAsItShould(t *testing.T) {
	for name, test := range map[string]struct {
		budget string
		over   []string
	}{
		"what is not named has the usual budget": {"# nothing\n", []string{
			"m/a took 16.0 s, and should take 10", "m/b took 35.0 s, and should take 10",
		}},
		"enough":                      {"11 m/a\n 24 m/b # slow machines\n", nil},
		"a little too much":           {"10.7 m/a\n24 m/b\n0.6 m/c", []string{"m/c took 1.0 s, and should take 0.6"}},
		"a package that is not there": {"11 m/a\n24 m/b\n1 m/gone\n", nil},
	} {
		budget, err := ReadBudget(strings.NewReader(test.budget))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.over, budget.Over(read(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAMalformedBudgetIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"1 a\nsoon b":    `line 2 of the budget: "soon" are no seconds`,
		"0 a":            `line 1 of the budget: "0" are no seconds`,
		"-1 a":           `line 1 of the budget: "-1" are no seconds`,
		"NaN a":          `line 1 of the budget: "NaN" are no seconds`,
		"+Inf a":         `line 1 of the budget: "+Inf" are no seconds`,
		"1":              `line 1 of the budget: "1" is not seconds and a package`,
		"1 a b":          `line 1 of the budget: "1 a b" is not seconds and a package`,
		"1 a\n\n#x\n2 a": `line 4 of the budget: a has two`,
	} {
		if _, err := ReadBudget(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTheBudgetOfARunIsKept(t *testing.T) {
	before, err := ReadBudget(strings.NewReader("99 m/b\n30 m/c\n40 m/elsewhere"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := before.Write(&out, read(t)); err != nil {
		t.Fatal(err)
	}
	want := `# Seconds that packages should take; others 10. cmd/testtimes -write made it of a run.
17 m/a
35 m/b
40 m/elsewhere
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	after, err := ReadBudget(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if over := after.Over(read(t)); len(over) > 0 {
		t.Errorf("a run is over the budget that was made of it: %v", over)
	}
}
