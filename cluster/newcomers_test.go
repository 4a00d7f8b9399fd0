package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

func TestAPodIsUntriedUntilItsSchedulerHasSaidSomethingAndWaitsUntilItHasANode(t *testing.T) {
	const name = "muster"
	waiting := func(change ...func(*corev1.Pod)) *corev1.Pod {
		pod := podObject("p", change...)
		pod.Spec.SchedulerName = name
		return pod
	}
	condition := func(reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason}}
		}
	}
	nominated := func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "n" }
	gated := func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }
	for what, test := range map[string]struct {
		shown   []*corev1.Pod
		untried bool
		waits   bool
	}{
		"it has come":                {[]*corev1.Pod{waiting()}, true, true},
		"it has come and changed":    {[]*corev1.Pod{waiting(), waiting()}, true, true},
		"it is gated":                {[]*corev1.Pod{waiting(gated)}, false, false},
		"its gate was lifted":        {[]*corev1.Pod{waiting(gated), waiting(condition(corev1.PodReasonSchedulingGated))}, true, true},
		"it was refused":             {[]*corev1.Pod{waiting(), waiting(condition(corev1.PodReasonUnschedulable))}, false, true},
		"an error came of it":        {[]*corev1.Pod{waiting(), waiting(condition(corev1.PodReasonSchedulerError))}, false, true},
		"it is bound":                {[]*corev1.Pod{waiting(), waiting(func(pod *corev1.Pod) { pod.Spec.NodeName = "n" })}, false, false},
		"it is nominated":            {[]*corev1.Pod{waiting(), waiting(nominated)}, false, true},
		"it is of another scheduler": {[]*corev1.Pod{podObject("p")}, false, true},
	} {
		t.Run(what, func(t *testing.T) {
			c, now := newCluster(t), clock.RealClock{}.Now()
			for _, pod := range test.shown {
				set(t, c, pod)
			}
			if got := c.Untried(name, c.Came(), now.Add(-time.Hour)); got != test.untried {
				t.Errorf("untried: %t, want %t", got, test.untried)
			}
			if got := c.Waits(c.Came()); got != test.waits {
				t.Errorf("waits: %t, want %t", got, test.waits)
			}
			if c.Waits(0) {
				t.Error("one of the first 0 waits")
			}
			if c.Untried(name, 0, now.Add(-time.Hour)) {
				t.Error("one of the first 0 is untried")
			}
			if c.Untried(name, c.Came(), now.Add(time.Hour)) {
				t.Error("one that came long ago counts")
			}
			remove(t, c, waiting())
			if c.Untried(name, c.Came(), now.Add(-time.Hour)) {
				t.Error("it is untried once it is gone")
			}
			if c.Waits(c.Came()) {
				t.Error("it waits once it is gone")
			}
		})
	}
}
