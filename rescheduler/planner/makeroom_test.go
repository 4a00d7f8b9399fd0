package planner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// said is a plan in short: steps as "pod: from → to", places as "pod: at node after n", and
// refusals as "group: reason".
func said(p *Plan) []string {
	var lines []string
	for _, step := range p.Steps {
		lines = append(lines, fmt.Sprintf("%s: %s → %s", step.Pod.Name, step.From.Name, step.To.Name))
	}
	for _, place := range p.Placements {
		lines = append(lines, fmt.Sprintf("%s: at %s after %d", place.Pod.Name, place.Node.Name, place.After))
	}
	for _, refusal := range p.Unplaced {
		lines = append(lines, fmt.Sprintf("%s: %s", refusal.Name, refusal.Reason))
	}
	return lines
}

func TestMakeRoom(t *testing.T) {
	// Two nodes with 4 CPU each, 3 and 1 of them taken: one move makes room for 4 CPU.
	oneMove := func(change ...func(*corev1.Pod)) []runtime.Object {
		return []runtime.Object{
			node("a", "4"), node("b", "4"), pod("x-1", "a", "1", change...), pod("y-1", "b", "3", unowned), pod("p-1", "", "4"),
		}
	}
	stays := []string{"default/p-1: " + ReasonProtected}
	moves := []string{"x-1: a → b", "p-1: at a after 1"}
	tests := []struct {
		name    string
		objects []runtime.Object
		change  func(*Problem)
		want    []string
	}{
		{
			name: "a pod that fits needs no step", objects: []runtime.Object{node("a", "4"), pod("p-1", "", "4")},
			want: []string{"p-1: at a after 0"},
		},
		{name: "a pod moves to room that is free already", objects: oneMove(), want: moves},
		{
			name: "two hops: a pod moves so that another one can",
			objects: []runtime.Object{
				node("a", "8"), node("b", "4"), node("c", "2"),
				pod("x-1", "a", "4"), pod("z-1", "a", "2", unowned), pod("y-1", "b", "2"), pod("p-1", "", "6"),
			},
			want: []string{"y-1: b → c", "x-1: a → b", "p-1: at a after 2"},
		},
		{
			name: "two hops are too many where one is allowed", change: func(p *Problem) { p.Limits.Hops = 1 },
			objects: []runtime.Object{
				node("a", "8"), node("b", "4"), node("c", "2"),
				pod("x-1", "a", "4"), pod("z-1", "a", "2", unowned), pod("y-1", "b", "2"), pod("p-1", "", "6"),
			},
			want: []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			name: "the fewest move", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"),
				pod("w-1", "a", "1"), pod("w-2", "a", "1"), pod("x-1", "b", "2"), pod("z-1", "c", "0"), pod("p-1", "", "4"),
			},
			want: []string{"x-1: b → a", "p-1: at b after 1"},
		},
		{
			name: "two move where each that would do alone has nowhere to go", objects: []runtime.Object{
				node("a", "11"),
				node("b", "4"),
				pod("v-1", "a", "2"),
				pod("w-1", "a", "2500m"),
				pod("x-1", "a", "3"),
				pod("s-1", "a", "1"),
				pod("t-1", "a", "500m"),
				pod("z-1", "b", "2500m", unowned),
				pod("p-1", "", "3500m"),
			},
			want: []string{"s-1: a → b", "t-1: a → b", "p-1: at a after 2"},
		},
		{
			name: "of equal numbers the pods of the lowest priority move", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"),
				pod("w-1", "a", "2", priority(90)), pod("x-1", "b", "2", priority(8)), pod("z-1", "c", "0"), pod("p-1", "", "4", priority(100)),
			},
			want: []string{"x-1: b → a", "p-1: at b after 1"},
		},
		{
			name: "the pod of the higher priority gets the room", objects: []runtime.Object{
				node("a", "4"), node("b", "1"), pod("x-1", "a", "1"), pod("p-1", "", "4", priority(1)), pod("q-1", "", "4", priority(2)),
			},
			want: []string{"x-1: a → b", "q-1: at a after 1", "default/p-1: " + ReasonProtected},
		},
		{
			name: "a gang moves whole", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"),
				pod("g-1", "a", "2", inGang("g", 2)), pod("g-2", "b", "2", inGang("g", 2)), pod("z-1", "b", "2", unowned), pod("p-1", "", "4"),
			},
			want: []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			name: "a group of Kubernetes' own moves whole", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), pod("n-1", "a", "2", ofKubernetesOwnGroup("n")),
				pod("n-2", "b", "2", ofKubernetesOwnGroup("n")), pod("z-1", "b", "2", unowned), pod("p-1", "", "4"),
			},
			want: []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			name: "a gang moves whole where there is room for all of it", objects: []runtime.Object{
				node("a", "4"),
				node("b", "4"),
				node("c", "4", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
				node("d", "2"),
				node("e", "2"),
				pod("g-1", "a", "2", inGang("g", 2)),
				pod("z-2", "a", "1", unowned),
				pod("g-2", "b", "2", inGang("g", 2)),
				pod("z-1", "b", "2", unowned),
				pod("p-1", "", "3"),
			},
			want: []string{"g-1: a → d", "g-2: b → e", "p-1: at a after 2"},
		},
		{
			name: "a pending gang gets the places that it needs", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), pod("x-1", "a", "2"), pod("z-1", "b", "2", unowned),
				pod("g-1", "", "4", inGang("g", 1)), pod("g-2", "", "4", inGang("g", 1)),
			},
			want: []string{"x-1: a → b", "g-1: at a after 1"},
		},
		{
			name: "a pending gang gets no place when there are too few", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), pod("x-1", "a", "2"), pod("z-1", "b", "2", unowned),
				pod("g-1", "", "4", inGang("g", 2)), pod("g-2", "", "4", inGang("g", 2)),
			},
			want: []string{"default/g: " + ReasonNoHomes},
		},
		{
			name: "what is in the way for a port moves", objects: []runtime.Object{
				node("a", "4"), node("b", "1"), pod("x-1", "a", "1", onPort(80)), pod("y-1", "a", "1"), pod("p-1", "", "2", onPort(80)),
			},
			want: []string{"x-1: a → b", "p-1: at a after 1"},
		},
		{
			name: "pods that keep apart do not move together", objects: []runtime.Object{
				node("a", "4"),
				node("b", "4"),
				node("c", "2"),
				node("d", "1"),
				pod("x-1", "a", "1", apartBy(corev1.LabelHostname)),
				pod("x-2", "c", "1", apartBy(corev1.LabelHostname)),
				pod("z-1", "b", "4", unowned),
				pod("p-1", "", "4"),
			},
			want: []string{"x-1: a → d", "p-1: at a after 1"},
		},
		{
			name: "pods that keep apart have no other place", objects: []runtime.Object{
				node("a", "4"), node("c", "2"),
				pod("x-1", "a", "1", apartBy(corev1.LabelHostname)), pod("x-2", "c", "1", apartBy(corev1.LabelHostname)), pod("p-1", "", "4"),
			},
			want: []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			name: "a pod does not go where one of its kind leaves", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), pod("x-1", "a", "2"), pod("x-2", "b", "1"), pod("p-1", "", "4"),
			},
			want: []string{"x-2: b → a", "p-1: at b after 1"},
		},

		{name: "a disruption budget forbids", objects: append(oneMove(), protecting("x", 0)), want: stays},
		{name: "a disruption budget allows", objects: append(oneMove(), protecting("x", 1)), want: moves},
		{
			name: "a disruption budget is for the whole plan", objects: []runtime.Object{
				node("a", "4"), node("b", "4"), node("c", "2"), node("d", "2"),
				pod("x-1", "a", "1"), pod("x-2", "b", "1"), pod("z-1", "c", "1", unowned), pod("z-2", "d", "1", unowned),
				protecting("x", 1), pod("p-1", "", "4"), pod("q-1", "", "4"),
			},
			want: []string{"x-1: a → c", "p-1: at a after 1", "default/q-1: " + ReasonNoHomes},
		},
		{
			name: "two disruption budgets forbid for ever", objects: append(oneMove(), protecting("x", 1), func() runtime.Object {
				b := protecting("x", 1)
				b.Name = "other"
				return b
			}()), want: stays,
		},
		{name: "a budget of evictions of pods that are selected", objects: oneMove(), want: stays, change: func(p *Problem) {
			p.Budgets.Selected = []SelectedBudget{
				{Selector: labels.SelectorFromSet(labels.Set{"app": "x"}), Evictions: func(string) int { return 0 }},
			}
		}},
		{
			name: "a budget of evictions in all", change: func(p *Problem) { p.Budgets.Total = 1 }, objects: []runtime.Object{
				node("a", "4"), node("b", "2"), pod("x-1", "a", "1"), pod("y-1", "a", "1"), pod("p-1", "", "4"),
			}, want: []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			name: "a budget of a node", change: func(p *Problem) { p.Budgets.PerNode = 1 }, objects: []runtime.Object{
				node("a", "4"), node("b", "2"), pod("x-1", "a", "1"), pod("y-1", "a", "1"), pod("p-1", "", "4"),
			}, want: []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			name: "a budget of a workload", change: func(p *Problem) { p.Budgets.PerWorkload = 1 }, objects: []runtime.Object{
				node("a", "4"), node("b", "2"), pod("x-1", "a", "1"), pod("x-2", "a", "1"), pod("p-1", "", "4"),
			}, want: []string{"default/p-1: " + ReasonNoHomes},
		},

		{name: "nobody moves for a pod of lower priority", objects: oneMove(priority(1)), want: []string{"default/p-1: " + ReasonProtected}},
		{
			name:    "unless that is allowed",
			objects: oneMove(priority(1)),
			change:  func(p *Problem) { p.Rules.AllowHigherPriority = true },
			want:    moves,
		},
		{name: "a place that is held is taken", objects: oneMove(), want: []string{"default/p-1: " + ReasonNoHomes}, change: func(p *Problem) {
			p.Reserved = []Reservation{{Pod: cluster.NewPod(pod("h-1", "", "1")), Node: p.Snapshot.NodeByName("b").Index}}
		}},
		{name: "a bar keeps a pod off a node", objects: oneMove(), want: []string{"default/p-1: " + ReasonNoHomes}, change: func(p *Problem) {
			p.Bars = func(pod *clusterPod, node *clusterNode) bool { return pod.Name == "x-1" && node.Name == "b" }
		}},
		{
			name: "no node could take it", objects: append(oneMove()[:4], pod("p-1", "", "5")), want: []string{"default/p-1: " + ReasonNoNode},
		},
		{
			name:    "nobody knows its scheduler",
			objects: append(oneMove()[:4], pod("p-1", "", "4", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" })),
			want:    []string{"default/p-1: " + ReasonUnknownScheduler},
		},
		{
			name:    "a namespace is protected",
			objects: oneMove(),
			want:    stays,
			change:  func(p *Problem) { p.Rules.ExceptNamespaces = sets.New("default") },
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
			plan := problem.MakeRoom(s.groups())
			checkPlan(t, problem, s.groups(), plan)
			if diff := cmp.Diff(test.want, said(plan)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
