package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestFigures(t *testing.T) {
	s := newScene()
	s.set(
		t, node("a", "4"), node("b", "4"), node("c", "4"),
		pod("x-1", "a", "1"), pod("y-1", "b", "2"), pod("d-1", "c", "0", ownedBy("DaemonSet")),
	)
	problem := s.problem(t)
	before, after := problem.Figures(problem.Coalesce(nil, 0))
	// Of 9 free CPUs, 3 are where 1 of 4 is taken, 2 where 2 of 4 are.
	want := Figures{EmptyNodes: 1, Fragmentation: map[corev1.ResourceName]float64{corev1.ResourceCPU: (3*0.25 + 2*0.5) / 9}}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("before the plan (-want +got):\n%s", diff)
	}
	want = Figures{EmptyNodes: 2, Fragmentation: map[corev1.ResourceName]float64{corev1.ResourceCPU: 1 * 0.75 / 9}}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("after the plan (-want +got):\n%s", diff)
	}
}
