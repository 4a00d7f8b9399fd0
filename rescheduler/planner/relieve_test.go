package planner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// heat is a Load of one amount: pods put as much on nodes as it says by name, 1 when it says
// nothing.
type heat struct {
	bears map[string]int64 // by node; MostLoad where it says nothing
	pods  map[string]int64
}

func (h *heat) of(pod *cluster.Pod) int64 {
	if load, said := h.pods[pod.Name]; said {
		return load
	}
	return 1
}

func (h *heat) on(node *cluster.Node) (bears, load int64) {
	bears, said := h.bears[node.Name]
	if !said {
		bears = MostLoad
	}
	for _, pod := range node.Pods {
		load += h.of(pod)
	}
	return bears, load
}

func (h *heat) load() *Load {
	return &Load{
		Amounts: 1,
		Node: func(node *cluster.Node) ([]int64, []int64) {
			bears, load := h.on(node)
			return []int64{bears}, []int64{load}
		},
		Pod: func(pod *cluster.Pod, _ *cluster.Node) []int64 { return []int64{h.of(pod)} },
	}
}

func bestEffort(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort }

func TestRelieve(t *testing.T) {
	tests := []struct {
		name    string
		objects []runtime.Object
		heat    heat
		hot     []string // default a
		change  func(*Problem)
		want    []string
		kept    []string
	}{
		{
			name:    "nothing leaves a node that bears what it has",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1")},
			heat:    heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 10}},
		},
		{
			name:    "as few pods as suffice",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "1"), pod("z-1", "a", "1")},
			heat:    heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 4, "y-1": 5, "z-1": 6}},
			want:    []string{"y-1: a → b"},
		},
		{
			name:    "of pods that suffice alone the one that costs the least, which asks for the least",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "3"), pod("y-1", "a", "1")},
			heat:    heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 9, "y-1": 9}},
			want:    []string{"y-1: a → b"},
		},
		{
			name: "one of best effort before others",
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "0", bestEffort), pod("z-1", "a", "0", bestEffort),
			},
			heat: heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 6, "y-1": 3, "z-1": 3}},
			want: []string{"y-1: a → b"},
		},
		{
			name: "two of best effort rather than one that is not",
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "0", bestEffort), pod("z-1", "a", "0", bestEffort),
			},
			heat: heat{bears: map[string]int64{"a": 8}, pods: map[string]int64{"x-1": 8, "y-1": 3, "z-1": 3}},
			want: []string{"z-1: a → b", "y-1: a → b"},
		},
		{
			name:    "one of another kind where best effort does not suffice",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "0", bestEffort)},
			heat:    heat{bears: map[string]int64{"a": 5}, pods: map[string]int64{"x-1": 9, "y-1": 3}},
			want:    []string{"x-1: a → b"},
		},
		{
			name: "pods of lower priority first",
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), pod("x-1", "a", "1", priority(10)), pod("y-1", "a", "2", priority(9)),
				pod("z-1", "a", "1", priority(11)),
			},
			heat: heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 9, "y-1": 9, "z-1": 1}},
			want: []string{"y-1: a → b"},
		},
		{
			name:    "nowhere that would bear too much then",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), node("c", "2"), pod("x-1", "a", "1"), pod("y-1", "b", "1")},
			heat:    heat{bears: map[string]int64{"a": 10, "b": 12, "c": 20}, pods: map[string]int64{"x-1": 12}},
			want:    []string{"x-1: a → c"},
		},
		{
			name:    "what goes to one node counts for the next",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), node("c", "2"), pod("x-1", "a", "1"), pod("y-1", "a", "1")},
			heat:    heat{bears: map[string]int64{"a": 5, "b": 10, "c": 10}, pods: map[string]int64{"x-1": 6, "y-1": 6}},
			want:    []string{"y-1: a → c", "x-1: a → b"},
		},
		{
			name:    "nothing where no node bears it, and it says so",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1")},
			heat:    heat{bears: map[string]int64{"a": 10, "b": 11}, pods: map[string]int64{"x-1": 12}},
			kept:    []string{"a: " + ReasonNoTarget},
		},
		{
			name:    "one hot node is no place for what leaves another",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "b", "1")}, hot: []string{"a", "b"},
			heat: heat{bears: map[string]int64{"a": 5, "b": 30}, pods: map[string]int64{"x-1": 10, "y-1": 10}},
			kept: []string{"a: " + ReasonNoTarget},
		},
		{
			name:    "others make room for the load of what leaves",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), node("c", "1"), pod("x-1", "a", "4"), pod("y-1", "b", "1")},
			heat:    heat{bears: map[string]int64{"a": 10, "b": 15, "c": 10}, pods: map[string]int64{"x-1": 12, "y-1": 5}},
			want:    []string{"y-1: b → c", "x-1: a → b"},
		},
		{
			name: "of a kind the one that another node bears makes room",
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), node("c", "1"), pod("x-1", "a", "4"), pod("y-1", "b", "1"), pod("y-2", "b", "1"),
			},
			heat:   heat{bears: map[string]int64{"a": 10, "b": 28, "c": 10}, pods: map[string]int64{"x-1": 12, "y-1": 14, "y-2": 7}},
			change: func(p *Problem) { p.Limits.Hops = 2 },
			want:   []string{"y-2: b → c", "x-1: a → b"},
		},
		{
			name: "as much as can leave, where not enough can",
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "a", "1", unowned), pod("z-1", "a", "1"),
			},
			heat: heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 5, "y-1": 15, "z-1": 3}},
			want: []string{"x-1: a → b", "z-1: a → b"}, kept: []string{"a: " + ReasonTooLittle},
		},
		{
			name:    "as much as budgets allow",
			objects: []runtime.Object{node("a", "8"), node("b", "8"), pod("x-1", "a", "1"), pod("x-2", "a", "1"), pod("y-1", "a", "1")},
			heat:    heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 6, "x-2": 7, "y-1": 5}},
			change:  func(p *Problem) { p.Budgets.PerWorkload = 1 },
			want:    []string{"y-1: a → b", "x-1: a → b"},
		},
		{
			name: "a gang as a whole",
			objects: []runtime.Object{
				node("a", "8"), node("b", "8"), node("c", "4"), pod("x-1", "a", "1", inGang("g", 2)), pod("x-2", "b", "1", inGang("g", 2)),
			},
			heat: heat{bears: map[string]int64{"a": 10}, pods: map[string]int64{"x-1": 12}},
			want: []string{"x-1: a → c", "x-2: b → c"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			s.set(t, test.objects...)
			problem := s.problem(t)
			problem.Load = test.heat.load()
			if test.change != nil {
				test.change(problem)
			}
			if test.hot == nil {
				test.hot = []string{"a"}
			}
			plan := relieve(problem, test.hot...)
			checkRelief(t, problem, &test.heat, test.hot, plan)
			got, kept := said(plan), []string(nil)
			for _, refusal := range plan.Kept {
				kept = append(kept, refusal.Name+": "+refusal.Reason)
			}
			slices.Sort(test.want)
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.kept, kept); diff != "" {
				t.Errorf("nodes that stay hot (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeThatStaysHotForLackOfATargetSaysWhyNoOtherNodeIsOne(t *testing.T) {
	s := newScene()
	s.set(t, node("a", "8"), node("b", "8"), node("c", "1"), node("d", "8", readiness(corev1.ConditionFalse)),
		node("e", "8"), node("f", "8", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "x", Value: "y", Effect: corev1.TaintEffectNoSchedule}}
		}),
		pod("x-1", "a", "2"), pod("z-1", "a", "1", unowned))
	problem := s.problem(t)
	h := heat{bears: map[string]int64{"a": 10, "b": 5, "e": 5}, pods: map[string]int64{"x-1": 12}}
	problem.Load = h.load()
	plan := relieve(problem, "a")
	want := "no other node is a target for pods of it: 2 nodes: it would bear too much with the pod; " +
		"1 node: Insufficient cpu; 1 node: node(s) had untolerated taint(s); 1 node: the node is not ready; " +
		"1 pod: it has no controller that would replace it"
	if len(plan.Kept) != 1 || plan.Kept[0].String() != want {
		t.Errorf("got %v\nwant %s", plan.Kept, want)
	}
}

const hot = "it is hot"

func relieve(problem *Problem, nodes ...string) *Plan {
	var reliefs []Relief
	for _, name := range nodes {
		reliefs = append(reliefs, Relief{Node: problem.Snapshot.NodeByName(name), Why: hot})
	}
	return problem.Relieve(reliefs)
}

// checkRelief says that a plan is safe, that after each step that brings load the target bears what it has,
// that none of the hot nodes gets anything, and that each bears what it has in the end, unless
// the plan says that it does not.
func checkRelief(t reporter, problem *Problem, h *heat, nodes []string, plan *Plan) {
	var wishes []Wish
	for _, step := range plan.Steps {
		if step.Why == hot {
			wishes = append(wishes, Wish{Pod: step.Pod})
		}
	}
	checkPlan(t, problem, nil, plan, wishes...)
	m := modelOf(problem)
	for n, step := range plan.Steps {
		m.nodes[step.From.Index] = m.nodes[step.From.Index].WithoutPod(step.Pod.UID)
		m.put(step.Replacement, step.To.Index)
		if bears, load := h.on(m.nodes[step.To.Index]); load > bears && h.of(step.Pod) > 0 {
			t.Fatalf("step %d: %s would bear %d, and may bear %d", n, step.To.Name, load, bears)
		}
		if slices.Contains(nodes, step.To.Name) {
			t.Fatalf("step %d: %s goes to %s, which is hot", n, step.Pod.Name, step.To.Name)
		}
	}
	for _, name := range nodes {
		bears, load := h.on(m.nodes[problem.Snapshot.NodeByName(name).Index])
		kept := slices.ContainsFunc(plan.Kept, func(r Refusal) bool { return r.Name == name })
		if load > bears != kept {
			t.Fatalf("%s bears %d of %d, and the plan says %v", name, load, bears, plan.Kept)
		}
	}
}

// TestEveryReliefIsSafeAndMinimal relieves nodes of random clusters.
func TestEveryReliefIsSafeAndMinimal(t *testing.T) {
	relieved, partly, stayed := 0, 0, 0
	enough := func() bool { return relieved > 0 && partly > 0 && stayed > 0 }
	seeded.Until(t, enough, func(t *rapid.T) {
		_, problem := drawScene(t)
		h := &heat{bears: map[string]int64{}, pods: map[string]int64{}}
		var nodes []string
		for node := range problem.Snapshot.Nodes() {
			for _, pod := range node.Pods {
				h.pods[pod.Name] = int64(rapid.IntRange(0, 9).Draw(t, "load"))
			}
			_, load := h.on(node)
			h.bears[node.Name] = max(0, load+int64(rapid.IntRange(-8, 12).Draw(t, "spare")))
			if load > h.bears[node.Name] && rapid.Bool().Draw(t, "hot") {
				nodes = append(nodes, node.Name)
			}
		}
		problem.Load = h.load()
		plan := relieve(problem, nodes...)
		checkRelief(t, problem, h, nodes, plan)
		if diff := cmp.Diff(said(plan), said(relieve(problem, nodes...))); diff != "" {
			t.Fatalf("the same problem gives another plan (-first +second):\n%s", diff)
		}
		for _, name := range nodes {
			switch kept := slices.ContainsFunc(plan.Kept, func(r Refusal) bool { return r.Name == name }); {
			case !kept:
				relieved++
				checkNeeded(t, problem, h, name, plan)
			case slices.ContainsFunc(plan.Steps, func(s Step) bool { return s.From.Name == name }):
				partly++
			default:
				stayed++
			}
		}
	})
	if !enough() {
		t.Errorf("%d nodes were relieved, %d partly, %d not: too few to tell anything", relieved, partly, stayed)
	}
}

// checkNeeded says that no pod left a node for nothing.
func checkNeeded(t reporter, problem *Problem, h *heat, name string, plan *Plan) {
	bears, load := h.on(problem.Snapshot.NodeByName(name))
	for _, step := range plan.Steps {
		if step.From.Name == name {
			load -= h.of(step.Pod)
		}
	}
	for _, step := range plan.Steps {
		if step.From.Name == name && step.Gang == "" && step.Why == hot && load+h.of(step.Pod) <= bears {
			t.Fatalf("%s left %s for nothing: %v", step.Pod.Name, name, fmt.Sprint(said(plan)))
		}
	}
}
