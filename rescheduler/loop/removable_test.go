package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func (w *world) wantAnnotated(want ...string) {
	w.Helper()
	w.annotate(w.Context())
	if diff := cmp.Diff(want, w.annotated); diff != "" {
		w.Errorf("annotations (-want +got):\n%s", diff)
	}
	w.annotated = nil
}

func TestANodeThatTheClusterCouldDoWithoutSaysSo(t *testing.T) {
	w := newWorld(t) // small may move from n1 to n2, on which there is nothing
	w.config.ScaleDown.Annotate = true
	w.wantAnnotated() // a dry run shows it on a page alone
	w.config.Mode = v1alpha1.Approve
	w.wantAnnotated(
		"n1 rescheduling.muster.dev/removable-steps=1", "n1 rescheduling.muster.dev/removable=true",
		"n2 rescheduling.muster.dev/removable-steps=0", "n2 rescheduling.muster.dev/removable=true",
	)
	w.clock.Step(w.config.Interval.Duration)
	w.wantAnnotated() // nothing has changed

	other := w.pod("stays", "1")
	other.Spec.NodeName = "n2"
	w.set(other)
	w.wantAnnotated() // it is looked once in an interval
	w.clock.Step(w.config.Interval.Duration)
	w.wantAnnotated(
		"n1 rescheduling.muster.dev/removable-steps=", "n1 rescheduling.muster.dev/removable=",
		"n2 rescheduling.muster.dev/removable-steps=", "n2 rescheduling.muster.dev/removable=",
	)
	w.set(node("n3", "4"))
	w.clock.Step(w.config.Interval.Duration)
	w.wantAnnotated(
		"n1 rescheduling.muster.dev/removable-steps=1", "n1 rescheduling.muster.dev/removable=true",
		"n3 rescheduling.muster.dev/removable-steps=0", "n3 rescheduling.muster.dev/removable=true",
	)
	w.config.ScaleDown.Annotate = false
	w.wantAnnotated(
		"n1 rescheduling.muster.dev/removable-steps=", "n1 rescheduling.muster.dev/removable=",
		"n3 rescheduling.muster.dev/removable-steps=", "n3 rescheduling.muster.dev/removable=",
	)
}

func TestThePageOfRemovableNodesSaysWhyOthersAreNot(t *testing.T) {
	w := newWorld(t)
	other := w.pod("stays", "1")
	other.Spec.NodeName = "n2"
	w.set(other)
	got := w.asks("/debug/rescheduler/removable")
	const want = `the cluster could do without each of 0 of 2 nodes, if it kept all others; nothing is known yet of 0

NODE  REMOVABLE  STEPS  LOOKED                WHY NOT
n1    false      0      2030-01-01T00:00:00Z  no other place was found for pods of the node
n2    false      0      2030-01-01T00:00:00Z  pods on the node may not be moved: 1 pod: it has no controller that would replace it
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALookThatEndsEarlyIsContinued(t *testing.T) {
	w := newWorld(t)
	w.config.Interval.Duration = time.Second // so that a look may take a second
	start := w.clock.Now()
	before := map[string]removal{"n1": {Node: "n1", At: start}}
	w.removals = removals{nodes: before, round: start, looked: start} // n2 is left
	w.clock.Step(w.config.Interval.Duration)
	at := func() map[string]time.Duration {
		all := map[string]time.Duration{}
		for _, node := range w.removable() {
			all[node.Node] = node.At.Sub(start) / w.config.Interval.Duration
		}
		return all
	}
	if diff := cmp.Diff(map[string]time.Duration{"n1": 0, "n2": 1}, at()); diff != "" {
		t.Errorf("the look that goes on (-want +got):\n%s", diff)
	}
	w.clock.Step(w.config.Interval.Duration)
	if diff := cmp.Diff(map[string]time.Duration{"n1": 2, "n2": 2}, at()); diff != "" {
		t.Errorf("the next round (-want +got):\n%s", diff)
	}
	asJSON := w.asks("/debug/rescheduler/removable?format=json")
	if want := `"steps":[{"pod":"default/small","to":"n2"}]`; !strings.Contains(asJSON, want) {
		t.Errorf("the page does not have %s: %s", want, asJSON)
	}
}
