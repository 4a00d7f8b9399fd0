package campaign

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*outcome)
		err    string
	}{
		"all is well":                       {change: func(*outcome) {}},
		"a node was overcommitted":          {change: func(o *outcome) { o.overcommitted = []string{"pod a"} }, err: "1 bindings overcommitted"},
		"a nomination was left":             {change: func(o *outcome) { o.orphaned = []string{"pod a", "pod b"} }, err: "2 nominations stood without a plan"},
		"nothing was nominated":             {change: func(o *outcome) { o.written = 0 }, err: "nominations_written is 0"},
		"no nomination was kept":            {change: func(o *outcome) { delete(o.nominations, "confirmed") }, err: "nominations_kept is 0"},
		"every nomination was kept":         {change: func(o *outcome) { delete(o.nominations, "elsewhere") }, err: "nominations_in_vain is 0"},
		"one was rejected, which is enough": {change: func(o *outcome) { o.nominations = map[string]int{"confirmed": 1, "gone": 1, "rejected": 1} }},
		"no nominated pod was deleted":      {change: func(o *outcome) { delete(o.nominations, "gone") }, err: "nominations_of_deleted_pods is 0"},
		"nothing was preempted":             {change: func(o *outcome) { o.preempted = 0 }, err: "preempted is 0"},
		"there was room for everything":     {change: func(o *outcome) { o.unschedulable = 0 }, err: "unschedulable is 0"},
		"muster was never killed":           {change: func(o *outcome) { o.restarts = 0 }, err: "restarts is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &outcome{
				way: nominating, written: 3, preempted: 1, unschedulable: 1, restarts: 1,
				nominations: map[string]int{"confirmed": 1, "elsewhere": 1, "gone": 1},
			}
			test.change(o)
			checkError(t, campaign{{script: &script{}, outcomes: []*outcome{o}}}.verdict(), test.err)
		})
	}
}

func TestComplaintsAreAnError(t *testing.T) {
	c := campaign{{script: &script{}, outcomes: []*outcome{{}, {complaints: []string{"a", "b"}}}}}
	checkError(t, c.complaint(), "took 2 answers for errors")
	checkError(t, campaign{{script: &script{}, outcomes: []*outcome{{}}}}.complaint(), "")
}

func TestWaitsAreThoseOfPodsThatAllRunsBound(t *testing.T) {
	here, there := origin{calm, corev1.DefaultSchedulerName}, origin{crowded, corev1.DefaultSchedulerName}
	second := origin{calm, secondScheduler}
	s := &script{pods: map[string]origin{"a": here, "b": here, "c": here, "elsewhen": there, "second": second}}
	all := func(way way, a, b time.Duration) *outcome {
		return &outcome{way: way, waits: map[string]time.Duration{"a": a, "b": b, "c": time.Hour, "elsewhen": time.Hour, "second": time.Hour}}
	}
	lacking := all(without, 10, 20)
	delete(lacking.waits, "c")
	for name, test := range map[string]struct {
		nominating time.Duration // of both pods
		err        string
	}{
		"as long":         {nominating: 20},
		"longer":          {nominating: 30, err: "1.50 times"},
		"a little longer": {nominating: 22},
	} {
		t.Run(name, func(t *testing.T) {
			c := campaign{{script: s, outcomes: []*outcome{all(nominating, test.nominating, test.nominating), lacking, all(eager, time.Hour, time.Hour)}}}
			checkError(t, c.slower(), test.err)
		})
	}
	t.Run("nothing to compare", func(t *testing.T) {
		checkError(t, campaign{{script: s, outcomes: []*outcome{all(nominating, 1, 1)}}}.slower(), "NaN times")
	})
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

func TestThePageNamesFindingsAndFigures(t *testing.T) {
	c := campaign{{script: &script{pods: map[string]origin{"a": {calm, corev1.DefaultSchedulerName}}}, outcomes: []*outcome{
		{way: nominating, waits: map[string]time.Duration{"a": 3 * time.Second}, bindings: 5, overcommitted: []string{"pod a on node b"}, longestOrphan: 1500 * time.Millisecond},
		{way: without, waits: map[string]time.Duration{"a": 2 * time.Second}, bindings: 6, nominations: map[string]int{"gone": 4}},
	}}}
	var page strings.Builder
	c.print(&page)
	for _, want := range []string{
		"run 1, nominating: overcommitted: pod a on node b\n",
		"figure campaign_bindings=11\n",
		"figure campaign_overcommitted=1\n",
		"figure campaign_orphaned_nominations=0\n",
		"figure campaign_orphaned_longest_s=1.5\n",
		"1 pods; with nomination p50 3s, p99 3s; without p50 2s, p99 2s\n",
		"figure campaign_wait_p50_vs_without=1.50\n",
		"figure campaign_wait_p99_vs_without=1.50\n",
		"figure campaign_nominations_gone=4\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, &page)
		}
	}
	if strings.Contains(page.String(), "campaign_crowded_wait") {
		t.Errorf("the page compares waits that there are none of:\n%s", &page)
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %q, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want it to contain %q", err, want)
	}
}
