package loadreplay

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
)

// short returns a plan that runs within a moment.
func short() Plan {
	return Plan{Nodes: 12, Cores: 32, Length: 80 * time.Minute, Burst: 30, PerMinute: 6, MeanRun: time.Hour}
}

func generated() Traces { return GenerateTraces(300, rand.New(rand.NewPCG(1, 1))) }

func outcome(t *testing.T, seed uint64, rule Maker) Result {
	t.Helper()
	result, err := Run(short().Workload(generated(), seed), rule)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// As an extender muster knows of every pod what a scheduler would know that reserves, and so
// comes to the same: not nearly the same, but pod by pod.
func TestMusterPlacesPodsAsTheReferenceInsideASchedulerDoes(t *testing.T) {
	var blind, reserving int
	for seed := range uint64(3) {
		want := outcome(t, seed, Reference)
		for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
			if diff := cmp.Diff(want, outcome(t, seed, Muster(selection)), cmp.AllowUnexported(Result{})); diff != "" {
				t.Errorf("seed %d, %s (-reference +muster):\n%s", seed, selection, diff)
			}
		}
		reserving += want.Overload
		blind += outcome(t, seed, BlindReference).Overload
	}
	if blind <= reserving {
		t.Errorf("%d node-minutes of overload without a reservation, %d with one: it makes no difference here", blind, reserving)
	}
}

func TestRunsOfASeedAreTheSame(t *testing.T) {
	one, other := outcome(t, 1, Reference), outcome(t, 1, Reference)
	if diff := cmp.Diff(one, other, cmp.AllowUnexported(Result{})); diff != "" {
		t.Errorf("twice the same seed:\n%s", diff)
	}
	if another := outcome(t, 2, Reference); another.mean == one.mean {
		t.Errorf("two seeds come to the same: %+v", one)
	}
}

func TestGeneratedUsageIsLikeThatOfPlanetLab(t *testing.T) {
	var means []float64
	var strays float64
	traces := GenerateTraces(2000, rand.New(rand.NewPCG(1, 1)))
	for _, trace := range traces {
		var sum, squares float64
		for _, percent := range trace {
			if percent < 0 || percent > 100 {
				t.Fatalf("%v is no percentage", percent)
			}
			sum, squares = sum+percent, squares+percent*percent
		}
		n := float64(len(trace))
		means = append(means, sum/n)
		strays += math.Sqrt(squares/n - sum*sum/n/n)
	}
	slices.Sort(means)
	var mean float64
	for _, m := range means {
		mean += m / float64(len(means))
	}
	within := func(what string, got, low, high float64) {
		if got < low || got > high {
			t.Errorf("%s is %.1f, want %v to %v", what, got, low, high)
		}
	}
	within("the mean", mean, 11, 15)                          // 12.3
	within("the median machine", means[len(means)/2], 6, 8.5) // 6.8
	within("the ninth decile", means[len(means)*9/10], 25, 38)
	within("how far machines stray", strays/float64(len(traces)), 5, 8) // 6.7
}

func TestTracesAreReadOrRefused(t *testing.T) {
	got, err := ReadTraces(strings.NewReader("vm,t0m,t5m\na,1,2.5\nb,3,100\n"))
	if diff := cmp.Diff(Traces{{1, 2.5}, {3, 100}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, test := range []struct{ name, table, want string }{
		{"nothing", "", "there are no traces"},
		{"a header alone", "vm,t0m\n", "there are no traces"},
		{"no number", "vm,t0m\na,x\n", `line 2, column 2: "x" is no percentage`},
		{"more than a machine has", "vm,t0m\na,101\n", `line 2, column 2: "101" is no percentage`},
		{"rows that differ in length", "vm,t0m\na,1,2\n", "wrong number of fields"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ReadTraces(strings.NewReader(test.table)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A pod of 2 CPUs whose machine used 10, 50 and 0 %, and then the same again.
func TestUsageOfAPodFollowsItsTrace(t *testing.T) {
	pod := &Pod{Limit: 2000, Runs: time.Hour, trace: []float64{10, 50, 0}, offset: 1}
	for _, test := range []struct {
		ran     time.Duration
		now     int64
		average int64 // over a minute
	}{
		{-time.Second, 0, 0},
		{0, 1000, 166}, // one moment of six
		{4 * time.Minute, 1000, 1000},
		{5 * time.Minute, 0, 833},
		{10 * time.Minute, 200, 33},
		{time.Hour, 0, 166}, // it has ended, and used 200 until then
	} {
		if now, average := pod.usage(test.ran), pod.averageUsage(test.ran, time.Minute); now != test.now || average != test.average {
			t.Errorf("after %s: %d, on average %d, want %d and %d", test.ran, now, average, test.now, test.average)
		}
	}
}

func TestJudgementNamesWhatIsMissed(t *testing.T) {
	c := &Comparison{bursts: []int{3}, seeds: 1, results: map[Contest]*Result{
		{nameLeastAllocated, 3}:  {Overload: 100},
		{nameReference, 3}:       {Overload: 20},
		{nameMusterScheduler, 3}: {Overload: 30, Pending: 1},
		{nameMusterExtender, 3}:  {Overload: 10},
	}}
	want := []string{
		"overload is 1.500 of the reference's, want at most 1",
		"overload is 0.300 of that of LeastAllocated, want at most 0.2",
		"1 pods are pending, with the reference 0",
	}
	if diff := cmp.Diff(want, c.Judge()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	*c.results[Contest{nameMusterScheduler, 3}] = Result{Overload: 20}
	if missed := c.Judge(); len(missed) > 0 {
		t.Errorf("missed %q, want nothing", missed)
	}
}
