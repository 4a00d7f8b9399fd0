package campaign

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// threePods is a script of pods that are compared, and of one that comes in another
// season.
func threePods() *script {
	here := origin{calm, corev1.DefaultSchedulerName}
	return &script{
		pods: map[string]origin{
			"a":      here,
			"b":      here,
			"c":      here,
			"later":  {crowded, corev1.DefaultSchedulerName},
			"second": {calm, secondScheduler},
		},
	}
}

// bound is the outcome of a run in which pods waited so many seconds.
func bound(way way, seconds map[string]int) *outcome {
	o := &outcome{way: way, waits: map[string]time.Duration{}}
	for name, wait := range seconds {
		o.waits[name] = time.Duration(wait) * time.Second
	}
	return o
}

func TestWaitsAreOfPodsThatAllRunsBound(t *testing.T) {
	r := round{script: threePods(), outcomes: []*outcome{
		bound(nominating, map[string]int{"a": 3, "b": 1, "c": 100, "later": 100, "second": 100}),
		bound(without, map[string]int{"a": 2, "b": 4, "later": 100, "second": 100}),
	}}
	want := [][]time.Duration{{time.Second, 3 * time.Second}, {2 * time.Second, 4 * time.Second}}
	if diff := cmp.Diff(want, r.waits(comparisons()[0].origin)); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestARunWithNominationIsComparedWithTheOneWithoutBesideIt(t *testing.T) {
	run := func(way way, seconds int) *outcome { return bound(way, map[string]int{"a": seconds}) }
	for name, test := range map[string]struct {
		rounds [][]*outcome
		want   float64
		err    string
	}{
		"as long":  {rounds: [][]*outcome{{run(nominating, 10), run(without, 10)}}, want: 1},
		"longer":   {rounds: [][]*outcome{{run(nominating, 15), run(without, 10)}}, want: 1.5, err: "1.50 times"},
		"a little": {rounds: [][]*outcome{{run(nominating, 11), run(without, 10)}}, want: 1.1},
		"the machine has become slow": {
			rounds: [][]*outcome{{run(nominating, 10), run(without, 10), run(without, 100), run(nominating, 100)}}, want: 1,
		},
		"the machine stood still in one of many runs": {
			rounds: [][]*outcome{
				{run(nominating, 1000), run(without, 10)}, {run(nominating, 10), run(without, 10)}, {run(nominating, 9), run(without, 10)},
			}, want: 1,
		},
		"another way does not matter": {
			rounds: [][]*outcome{{run(nominating, 10), run(without, 10), run(eager, 1000)}}, want: 1,
		},
		"nothing to compare": {rounds: [][]*outcome{{run(nominating, 10), run(eager, 10)}}, want: math.NaN(), err: "NaN times"},
	} {
		t.Run(name, func(t *testing.T) {
			var c campaign
			for _, outcomes := range test.rounds {
				c = append(c, round{script: threePods(), outcomes: outcomes})
			}
			if got := c.ratio(comparisons()[0], 0.99); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
				t.Errorf("ratio %v, want %v", got, test.want)
			}
			checkError(t, c.slower(), test.err)
		})
	}
}

func TestQuantilesAreDurationsThatOccurred(t *testing.T) {
	var sorted []time.Duration
	for i := range time.Duration(200) {
		sorted = append(sorted, i+1)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 100, 0.99: 198, 1: 200} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}
