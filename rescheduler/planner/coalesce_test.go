package planner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

func TestCoalesce(t *testing.T) {
	tests := []struct {
		name    string
		objects []runtime.Object
		among   func(*cluster.Node) bool
		atMost  int
		change  func(*Problem)
		steps   []string
		emptied []string
		kept    []string
	}{
		{
			name: "the node with the least on it", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "4"), pod("x-1", "a", "3"), pod("y-1", "b", "1"), pod("z-1", "c", "3"),
			},
			steps: []string{"y-1: b → a"}, emptied: []string{"b"}, kept: []string{"a: " + ReasonReceives, "c: " + ReasonNoOtherPlace},
		},
		{
			name: "nothing goes to a node that is empty", objects: []runtime.Object{node("a", "4"), node("b", "4"), pod("x-1", "a", "1")},
			kept: []string{"a: " + ReasonNoOtherPlace},
		},
		{
			name: "pods of DaemonSets stay with the node", objects: []runtime.Object{
				node("a", "4"),
				node("b", "4"),
				pod("x-1", "a", "1"),
				pod("d-1", "a", "1", ownedBy("DaemonSet")),
				pod("d-2", "b", "1", ownedBy("DaemonSet")),
				pod("y-1", "b", "2"),
			},
			steps: []string{"x-1: a → b"}, emptied: []string{"a"}, kept: []string{"b: " + ReasonReceives},
		},
		{
			name: "a pod that must stay keeps its node", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), pod("x-1", "a", "1", unowned), pod("y-1", "b", "1", unowned),
			},
			kept: []string{"a: " + ReasonPodsStay, "b: " + ReasonPodsStay},
		},
		{
			name: "as many as may be", atMost: 1, objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "4"), pod("x-1", "a", "1"), pod("y-1", "b", "1"), pod("z-1", "c", "2"),
			},
			steps: []string{"x-1: a → c"}, emptied: []string{"a"},
		},
		{
			name: "the nodes that are asked for", among: func(n *cluster.Node) bool { return n.Name == "c" }, objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "4"), pod("x-1", "a", "1"), pod("y-1", "b", "3"), pod("z-1", "c", "1"),
			},
			steps: []string{"z-1: c → b"}, emptied: []string{"c"},
		},
		{
			name: "a disruption budget for all nodes together", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "4"), pod("x-1", "a", "1"), pod("x-2", "b", "1"), pod("z-1", "c", "2"), protecting("x", 1),
			},
			steps: []string{"x-1: a → c"}, emptied: []string{"a"}, kept: []string{"b: " + ReasonNoOtherPlace, "c: " + ReasonReceives},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			s.set(t, test.objects...)
			problem := s.problem(t)
			if test.change != nil {
				test.change(problem)
			}
			plan := problem.Coalesce(test.among, test.atMost)
			checkPlan(t, problem, nil, plan)
			if diff := cmp.Diff(test.steps, said(plan)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			var emptied, kept []string
			for _, node := range plan.Emptied {
				emptied = append(emptied, node.Name)
			}
			for _, refusal := range plan.Kept {
				kept = append(kept, refusal.Name+": "+refusal.Reason)
			}
			if diff := cmp.Diff(test.emptied, emptied); diff != "" {
				t.Errorf("emptied (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.kept, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemovable(t *testing.T) {
	s := newScene()
	s.set(
		t, node("a", "4"), node("b", "4"), node("c", "4"), node("d", "4"),
		pod("x-1", "a", "1"), pod("y-1", "b", "4"), pod("z-1", "c", "1", unowned), pod("w-1", "b", "0"),
	)
	want := map[string]string{"a": "1 steps", "b": "2 steps", "c": ReasonPodsStay, "d": "0 steps"}
	got := map[string]string{}
	for _, removal := range s.problem(t).Removable(nil) {
		got[removal.Node.Name] = removal.Refusal.Reason
		if removal.Refusal.Reason == "" {
			got[removal.Node.Name] = fmt.Sprint(len(removal.Steps), " steps")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("removable (-want +got):\n%s", diff)
	}
}

// TestNothingIsLeftOnNodesThatAreEmptied carries out plans to empty nodes of random clusters.
func TestNothingIsLeftOnNodesThatAreEmptied(t *testing.T) {
	emptied := 0
	seeded.Until(t, func() bool { return emptied > 0 }, func(t *rapid.T) {
		_, problem := drawScene(t)
		atMost := rapid.IntRange(0, 3).Draw(t, "at most")
		plan := problem.Coalesce(nil, atMost)
		checkPlan(t, problem, nil, plan)
		again := problem.Coalesce(nil, atMost)
		if diff := cmp.Diff(append(said(plan), keptBy(plan)...), append(said(again), keptBy(again)...)); diff != "" {
			t.Fatalf("the same problem gives another plan (-first +second):\n%s", diff)
		}
		emptied += len(plan.Emptied)
		leaves := map[string]bool{}
		for _, step := range plan.Steps {
			leaves[step.Pod.Name] = true
		}
		for _, node := range plan.Emptied {
			for _, pod := range node.Pods {
				if !leaves[pod.Name] {
					t.Fatalf("%s stays on %s, which is to be empty", pod.Name, node.Name)
				}
			}
			for _, step := range plan.Steps {
				if step.To == node {
					t.Fatalf("%s moves to %s, which is to be empty", step.Pod.Name, node.Name)
				}
			}
		}
		for _, removal := range problem.Removable(nil) {
			alone := &Plan{Steps: removal.Steps, Emptied: []*cluster.Node{removal.Node}}
			checkPlan(t, problem, nil, alone)
		}
	})
	if emptied == 0 {
		t.Error("no node was ever emptied")
	}
}

// keptBy are the nodes that a plan does not empty, and why.
func keptBy(p *Plan) (kept []string) {
	for i := range p.Kept {
		kept = append(kept, p.Kept[i].Name+": "+p.Kept[i].String())
	}
	return kept
}
