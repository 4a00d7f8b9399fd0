package planner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"pgregory.net/rapid"

	"muster.dev/muster/cluster"
)

// wishFor is that a pod of the scene leaves its node.
func (s *scene) wishFor(name string, to func(*cluster.Node) bool) Wish {
	for node := range s.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Name == name {
				return Wish{Pod: pod, Why: "is to leave", To: to}
			}
		}
	}
	panic("there is no pod " + name)
}

func tainted(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
}

func TestRelocate(t *testing.T) {
	tests := []struct {
		name    string
		objects []runtime.Object
		leave   []string
		to      func(*cluster.Node) bool
		change  func(*Problem)
		want    []string
		stay    []string
	}{
		{
			name: "to the node that the scores prefer, which is the one with the most room", leave: []string{"x-1"},
			objects: []runtime.Object{node("a", "8"), node("b", "8"), node("c", "8"), pod("x-1", "a", "1"), pod("y-1", "b", "4")},
			want:    []string{"x-1: a → c"},
		},
		{
			name: "each with what the others before it took", leave: []string{"x-1", "x-2", "x-3"},
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), node("c", "8"), pod("x-1", "a", "2"), pod("x-2", "a", "2"), pod("x-3", "a", "2"), pod("y-1", "b", "3"),
			},
			want: []string{"x-1: a → c", "x-2: a → c", "x-3: a → b"},
		},
		{
			name: "a place that the predicates are against is one to leave like any other", leave: []string{"x-1"},
			objects: []runtime.Object{node("a", "8", tainted), node("b", "2"), pod("x-1", "a", "1"), pod("y-1", "b", "1")},
			want:    []string{"x-1: a → b"},
		},
		{
			name: "a node that has more on it than room", leave: []string{"x-1"},
			objects: []runtime.Object{node("a", "1"), node("b", "2"), pod("x-1", "a", "1"), pod("z-1", "a", "1")},
			want:    []string{"x-1: a → b"},
		},
		{
			name: "others move when there is no room", leave: []string{"x-1"},
			objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), pod("x-1", "a", "4"), pod("y-1", "b", "1"), pod("z-1", "c", "1", unowned),
			},
			want: []string{"y-1: b → c", "x-1: a → b"},
		},
		{
			name: "not with one hop", leave: []string{"x-1"}, change: func(p *Problem) { p.Limits.Hops = 1 },
			objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), pod("x-1", "a", "4"), pod("y-1", "b", "1"), pod("z-1", "c", "1", unowned),
			},
			stay: []string{"default/x-1: " + ReasonNoHomes},
		},
		{
			name: "others of higher priority do not", leave: []string{"x-1"},
			objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), pod("x-1", "a", "4"), pod("y-1", "b", "1", priority(1)), pod("z-1", "c", "1", unowned),
			},
			stay: []string{"default/x-1: " + ReasonProtected},
		},
		{
			name: "what one leaves is room for another", leave: []string{"x-1", "y-1"},
			objects: []runtime.Object{node("a", "4"), node("b", "2"), node("c", "2"), pod("x-1", "b", "2", func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"}
			}), pod("y-1", "a", "2"), pod("z-1", "a", "2", unowned)},
			want: []string{"y-1: a → c", "x-1: b → a"},
		},
		{
			name: "only to nodes that it may go to", leave: []string{"x-1"}, to: func(n *cluster.Node) bool { return n.Name == "b" },
			objects: []runtime.Object{node("a", "8"), node("b", "8"), node("c", "8"), pod("x-1", "a", "1"), pod("y-1", "b", "4")},
			want:    []string{"x-1: a → b"},
		},
		{
			name: "which is asked with what has come there by then", leave: []string{"x-1", "y-1"}, to: func(n *cluster.Node) bool { return len(n.Pods) == 0 },
			objects: []runtime.Object{node("a", "8"), node("b", "8"), node("c", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "1")},
			want:    []string{"x-1: a → b", "y-1: a → c"},
		},
		{
			name: "none that it may go to", leave: []string{"x-1"}, to: func(*cluster.Node) bool { return false },
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1")},
			stay:    []string{"default/x-1: " + ReasonNoNode},
		},
		{
			name: "the first ones, as far as the budgets go", leave: []string{"x-1", "y-1", "z-1"}, change: func(p *Problem) { p.Budgets.Total = 2 },
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "1"), pod("z-1", "a", "1")},
			want:    []string{"x-1: a → b", "y-1: a → b"}, stay: []string{"default/z-1: " + ReasonBudget},
		},
		{
			name: "no protected pods", leave: []string{"x-1"},
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1", unowned)},
			stay:    []string{"default/x-1: " + ReasonNoController},
		},
		{
			name: "a gang as a whole", leave: []string{"x-2"},
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), node("c", "4"), pod("x-1", "a", "1", inGang("g", 2)), pod("x-2", "b", "1", inGang("g", 2)),
			},
			want: []string{"x-1: a → c", "x-2: b → c"},
		},
		{
			name: "or not at all", leave: []string{"x-2"},
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), node("c", "8"), pod("x-1", "a", "1", inGang("g", 2), unowned), pod("x-2", "b", "1", inGang("g", 2)),
			},
			stay: []string{"default/x-2: " + ReasonGang},
		},
		{
			name: "not to a node that one of its kind leaves", leave: []string{"x-1", "x-2"},
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("x-2", "b", "1")},
			want:    []string{"x-1: a → b"}, stay: []string{"default/x-2: " + ReasonNoHomes},
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
			var wishes []Wish
			for _, name := range test.leave {
				wishes = append(wishes, s.wishFor(name, test.to))
			}
			plan := problem.Relocate(wishes)
			checkPlan(t, problem, nil, plan, wishes...)
			if diff := cmp.Diff(test.want, said(plan)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			var stay []string
			for _, refusal := range plan.Unmoved {
				stay = append(stay, refusal.Name+": "+refusal.Reason)
			}
			if diff := cmp.Diff(test.stay, stay); diff != "" {
				t.Errorf("pods that stay (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepsSayWhyAPodIsToLeave(t *testing.T) {
	s := newScene()
	s.set(t, node("a", "4"), node("b", "4"), node("c", "2"), pod("x-1", "a", "4"), pod("y-1", "b", "1"), pod("z-1", "c", "1", unowned))
	plan := s.problem(t).Relocate([]Wish{s.wishFor("x-1", nil)})
	var got []string
	for _, step := range plan.Steps {
		got = append(got, step.Why)
	}
	if diff := cmp.Diff([]string{"makes room on b for default/x-1, which has to move there", "is to leave"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEveryStepForPodsThatAreToLeaveIsSafe carries out plans to relocate pods of random
// clusters, in which many are where the predicates are against them.
func TestEveryStepForPodsThatAreToLeaveIsSafe(t *testing.T) {
	moved, others, stayed := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		_, problem := drawScene(t)
		wishes := drawWishes(t, problem)
		plan := problem.Relocate(wishes)
		checkPlan(t, problem, nil, plan, wishes...)
		if diff := cmp.Diff(said(plan), said(problem.Relocate(wishes))); diff != "" {
			t.Fatalf("the same problem gives another plan (-first +second):\n%s", diff)
		}
		moved, stayed = moved+len(wishes)-len(plan.Unmoved), stayed+len(plan.Unmoved)
		for _, step := range plan.Steps {
			if !slices.ContainsFunc(wishes, func(w Wish) bool { return w.Pod == step.Pod }) {
				others++
			}
		}
	})
	if moved == 0 || others == 0 || stayed == 0 {
		t.Errorf("%d pods moved, %d others for them, and %d stayed: too few to tell anything", moved, others, stayed)
	}
}

func drawWishes(t *rapid.T, problem *Problem) (wishes []Wish) {
	for node := range problem.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if rapid.IntRange(0, 2).Draw(t, "is to leave") > 0 {
				continue
			}
			to := []func(*cluster.Node) bool{
				nil, func(n *cluster.Node) bool { return n.Name != "node-0" },
				func(n *cluster.Node) bool {
					return !slices.ContainsFunc(n.Pods, func(other *cluster.Pod) bool { return other.Labels["app"] == pod.Labels["app"] })
				},
			}
			wishes = append(wishes, Wish{Pod: pod, To: rapid.SampledFrom(to).Draw(t, "to")})
		}
	}
	return wishes
}

// TestAPodThatIsToLeaveStaysOnlyWhereItMust tries all nodes for a single pod.
func TestAPodThatIsToLeaveStaysOnlyWhereItMust(t *testing.T) {
	moved, stayed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		_, problem := drawScene(t)
		problem.Budgets, problem.Rules.MinReplicas = Budgets{IgnoreDisruptionBudgets: true}, 0
		var candidates []*cluster.Pod
		for node := range problem.Snapshot.Nodes() {
			candidates = append(candidates, slices.DeleteFunc(slices.Clone(node.Pods), func(p *cluster.Pod) bool { return gangOf(p) != "" })...)
		}
		if len(candidates) == 0 {
			return
		}
		pod := rapid.SampledFrom(candidates).Draw(t, "pod")
		plan := problem.Relocate([]Wish{{Pod: pod}})
		if len(plan.Unmoved) == 0 {
			moved++
			return
		}
		stayed++
		if problem.Rules.Protects(pod, problem.Snapshot.NodeByName(pod.Spec.NodeName), now()) != "" {
			return
		}
		m := modelOf(problem)
		from := problem.Snapshot.NodeByName(pod.Spec.NodeName).Index
		m.nodes[from] = m.nodes[from].WithoutPod(pod.UID)
		for index, node := range m.nodes {
			if index != from && m.against(newKinds(problem).replacement(pod), index) == "" {
				t.Fatalf("%s stays (%v), and %s would take it", pod.Name, plan.Unmoved, node.Name)
			}
		}
	})
	if moved == 0 || stayed == 0 {
		t.Errorf("%d pods moved and %d stayed: too few to tell anything", moved, stayed)
	}
}

// checkWish says that a pod which is to leave goes where it may.
func checkWish(t reporter, m *model, step Step, wishes []Wish) {
	for _, w := range wishes {
		if w.Pod == step.Pod && w.To != nil && !w.To(m.nodes[step.To.Index]) {
			t.Fatalf("%s is not to go to %s", step.Pod.Name, step.To.Name)
		}
	}
}

// checkWishes says that pods move for those that are to leave only, and that the plan says of
// each of these what becomes of it.
func checkWishes(t reporter, problem *Problem, wishes []Wish, plan *Plan) {
	if len(wishes) == 0 {
		return
	}
	wished := func(step Step) bool {
		return slices.ContainsFunc(wishes, func(w Wish) bool {
			return w.Pod == step.Pod || step.Gang != "" && gangOf(w.Pod) == step.Gang
		})
	}
	highest := int32(-1 << 31)
	for _, step := range plan.Steps {
		if wished(step) {
			highest = max(highest, corev1helpers.PodPriority(step.Pod.Pod))
		}
	}
	for _, step := range plan.Steps {
		if wished(step) {
			continue
		}
		if !problem.Rules.AllowHigherPriority && corev1helpers.PodPriority(step.Pod.Pod) > highest {
			t.Fatalf("%s moves for pods of lower priority", step.Pod.Name)
		}
		if step.Gang == "" && !slices.ContainsFunc(plan.Steps, func(other Step) bool { return other.To == step.From }) {
			t.Fatalf("%s moves for nobody", step.Pod.Name)
		}
	}
	var want, got []string
	for _, w := range wishes {
		want = append(want, nameOf(w.Pod))
		for _, step := range plan.Steps {
			if step.Pod == w.Pod {
				got = append(got, nameOf(w.Pod))
			}
		}
	}
	for _, refusal := range plan.Unmoved {
		if refusal.Reason == "" {
			t.Fatalf("nothing says why %s stays", refusal.Name)
		}
		got = append(got, refusal.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Fatalf("%v are to leave, and it is said of %v what becomes of them", fmt.Sprint(want), got)
	}
}
