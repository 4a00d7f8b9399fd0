package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// wishFor wishes that a pod of the scene leaves its node.
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
			name:    "which is asked with what has come there by then",
			leave:   []string{"x-1", "y-1"},
			to:      func(n *cluster.Node) bool { return len(n.Pods) == 0 },
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
			name: "no gang that asks for nodes near each other", leave: []string{"x-1"},
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"),
				pod("x-1", "a", "1", inGang("g", 1), annotated(v1alpha1.AnnotationRequiredTopology, "example.com/rack")),
			},
			stay: []string{"default/x-1: " + ReasonNear},
		},
		{
			name: "not to a node that one of its kind leaves", leave: []string{"x-1", "x-2"},
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("x-2", "b", "1")},
			want:    []string{"x-1: a → b"}, stay: []string{"default/x-2: " + ReasonUnproven},
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

func TestAPodStaysThatMayOnceOthersHaveLeft(t *testing.T) {
	s := newScene()
	s.set(
		t, node("a", "8", inZone("1")), node("b", "8", inZone("2")), node("c", "8", inZone("2")),
		pod("x-1", "a", "1", spreadBy(corev1.LabelTopologyZone)), pod("x-2", "a", "1", spreadBy(corev1.LabelTopologyZone)),
		pod("y-1", "b", "1", apartBy(corev1.LabelTopologyZone)), pod("y-2", "c", "1", apartBy(corev1.LabelTopologyZone)),
		pod("z-1", "a", "1"), pod("z-2", "a", "1"),
	)
	problem := s.problem(t)
	against := func(at Place) bool { return len(at.Against()) > 0 }
	crowded := func(at Place) bool {
		return len(slices.DeleteFunc(slices.Clone(at.Node.Pods), func(p *cluster.Pod) bool { return p.Labels["app"] != "z" })) > 1
	}
	var wishes []Wish
	for _, name := range []string{"x-1", "x-2", "y-1", "y-2"} {
		wishes = append(wishes, Wish{Pod: s.wishFor(name, nil).Pod, While: against})
	}
	for _, name := range []string{"z-1", "z-2"} {
		wishes = append(wishes, Wish{Pod: s.wishFor(name, nil).Pod, While: crowded})
	}
	plan := problem.Relocate(wishes)
	checkPlan(t, problem, nil, plan, wishes...)
	if diff := cmp.Diff([]string{"x-1: a → b", "z-1: a → b", "y-1: b → a"}, said(plan)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(plan.Unmoved) > 0 {
		t.Errorf("%v are to leave still", plan.Unmoved)
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
