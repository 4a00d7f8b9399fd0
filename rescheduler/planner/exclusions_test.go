package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachPodThatNoPlanMovesIsToldWithItsReason(t *testing.T) {
	s := newScene()
	s.set(
		t, node("a", "8"), node("b", "8"),
		pod("free-1", "a", "1"), pod("daemon-1", "a", "1", ownedBy("DaemonSet")), pod("alone-1", "b", "1", unowned),
		pod("gang-1", "a", "1", inGang("g", 2)), pod("gang-2", "b", "1", inGang("g", 2), unowned),
		pod("whole-1", "a", "1", inGang("h", 2)), pod("whole-2", "b", "1", inGang("h", 2)),
	)
	got := map[string]string{}
	for _, e := range s.problem(t).Exclusions() {
		got[e.Pod.Name+" on "+e.Node.Name] = e.Reason
	}
	want := map[string]string{
		"daemon-1 on a": ReasonDaemonSetPod, "alone-1 on b": ReasonNoController, "gang-1 on a": ReasonGang, "gang-2 on b": ReasonNoController,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods that are not moved (-want +got):\n%s", diff)
	}
}
