package campaign

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestViolationsAndTooLittleToFindAny(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*outcome)
		err    string
	}{
		"all is well":              {change: func(*outcome) {}},
		"a node was overcommitted": {change: func(o *outcome) { o.overcommitted = []string{"pod a"} }, err: "1 bindings overcommitted"},
		"a nomination was left": {
			change: func(o *outcome) { o.orphaned = []string{"pod a", "pod b"} }, err: "2 nominations stood without a plan",
		},
		"nothing was nominated":     {change: func(o *outcome) { o.written = 0 }, err: "nominations_written is 0"},
		"no nomination was kept":    {change: func(o *outcome) { delete(o.nominations, "confirmed") }, err: "nominations_kept is 0"},
		"every nomination was kept": {change: func(o *outcome) { delete(o.nominations, "elsewhere") }, err: "nominations_in_vain is 0"},
		"one was rejected, which is enough": {
			change: func(o *outcome) { o.nominations = map[string]int{"confirmed": 1, "gone": 1, "rejected": 1} },
		},
		"no nominated pod was deleted": {
			change: func(o *outcome) { delete(o.nominations, "gone") }, err: "nominations_of_deleted_pods is 0",
		},
		"nothing was preempted":         {change: func(o *outcome) { o.preempted = 0 }, err: "preempted is 0"},
		"there was room for everything": {change: func(o *outcome) { o.unschedulable = 0 }, err: "unschedulable is 0"},
		"muster was never killed":       {change: func(o *outcome) { o.restarts = 0 }, err: "restarts is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &outcome{
				way: nominating, written: 3, preempted: 1, unschedulable: 1, restarts: 1,
				nominations: map[string]int{"confirmed": 1, "elsewhere": 1, "gone": 1},
			}
			test.change(o)
			c := campaign{{script: &script{}, outcomes: []*outcome{o}}}
			checkError(t, errors.Join(c.violation(), c.idle(false)), test.err)
		})
	}
}

func TestWhatIsRareMayBeMissingInACampaignOfSeconds(t *testing.T) {
	o := &outcome{written: 3, preempted: 1, unschedulable: 1, restarts: 1, nominations: map[string]int{"confirmed": 1}}
	c := campaign{{script: &script{}, outcomes: []*outcome{o}}}
	checkError(t, c.idle(true), "")
	checkError(t, c.idle(false), "nominations_in_vain is 0")
	o.preempted = 0
	checkError(t, c.idle(true), "preempted is 0")
}

func TestComplaintsAreAnError(t *testing.T) {
	for name, test := range map[string]struct {
		preempted int
		err       string
	}{
		"one for each preempted pod":     {preempted: 2, err: "took 2 answers for errors"},
		"a few for very many":            {preempted: 200},
		"a few for not quite as many":    {preempted: 199, err: "took 2 answers"},
		"although nothing was preempted": {err: "took 2 answers"},
	} {
		t.Run(name, func(t *testing.T) {
			c := campaign{{script: &script{}, outcomes: []*outcome{{preempted: test.preempted}, {complaints: []string{"a", "b"}}}}}
			checkError(t, c.complaint(), test.err)
		})
	}
	checkError(t, campaign{{script: &script{}, outcomes: []*outcome{{}}}}.complaint(), "")
}

func TestThePageNamesFindingsAndFigures(t *testing.T) {
	c := campaign{{script: &script{pods: map[string]origin{"a": {calm, corev1.DefaultSchedulerName}}}, outcomes: []*outcome{
		{
			way:           nominating,
			waits:         map[string]time.Duration{"a": 3 * time.Second},
			bindings:      5,
			overcommitted: []string{"pod a on node b"},
			longestOrphan: 1500 * time.Millisecond,
		},
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
		"  run 1, nominating      1 pods  p50   3000ms  p99   3000ms\n",
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
