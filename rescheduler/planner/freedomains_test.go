package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

const rack = "topology.kubernetes.io/rack"

func inRack(name string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[rack] = name } }

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func TestFreeDomains(t *testing.T) {
	// racked has a cheaper rack and a dearer one, with room for their pods on two nodes of no rack.
	racked := func(objects ...runtime.Object) []runtime.Object {
		return append([]runtime.Object{
			node("a1", "2", inRack("a")), node("a2", "2", inRack("a")), node("b1", "2", inRack("b")), node("b2", "2", inRack("b")),
			pod("a-1", "a1", "2"), pod("b-1", "a2", "2"), pod("c-1", "b1", "2"), pod("d-1", "b2", "1"), pod("e-1", "b2", "1"),
		}, objects...)
	}
	rest := []runtime.Object{node("z1", "4"), pod("z-1", "z1", "1", unowned)}
	two := Domains{Key: rack, Nodes: 2, Count: 1}
	tests := []struct {
		name    string
		objects []runtime.Object
		want    Domains
		change  func(*Problem)
		steps   []string
		emptied []string
		kept    []string
	}{
		{
			name: "the domain in which it costs least", objects: racked(node("z1", "8")), want: two,
			steps: []string{"a-1: a1 → z1", "b-1: a2 → z1"}, emptied: []string{"a1", "a2"},
		},
		{
			name: "another one where the cheapest cannot be freed", objects: racked(pod("u-1", "a1", "0", unowned), node("z1", "8")),
			want: two, steps: []string{"c-1: b1 → z1", "d-1: b2 → z1", "e-1: b2 → z1"}, emptied: []string{"b1", "b2"},
			kept: []string{"a: " + ReasonFewNodes + ": 1 node: " + ReasonPodsStay + "; 1 pod: it has no controller that would replace it"},
		},
		{
			name: "all of the nodes or none", want: two, objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("z1", "4"),
				pod("a-1", "a1", "3"), pod("b-1", "a2", "2"), pod("z-1", "z1", "1", unowned),
			},
			kept: []string{"a: " + ReasonLittleRoom},
		},
		{
			name: "more room than 64 bits hold", want: two, objects: []runtime.Object{
				node("a1", "2", inRack("a"), offering("memory", "8E")), node("a2", "2", inRack("a"), offering("memory", "8E")),
				node("z1", "4", offering("memory", "8E")), node("z2", "4", offering("memory", "8E")),
				pod("a-1", "a1", "2", asking("memory", "3E")), pod("b-1", "a2", "2", asking("memory", "3E")),
			},
			steps: []string{"a-1: a1 → z1", "b-1: a2 → z1"}, emptied: []string{"a1", "a2"},
		},
		{
			name: "room in pieces that suffice", want: two, objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("y1", "3"), node("z1", "3"),
				pod("a-1", "a1", "2"), pod("b-1", "a2", "2"), pod("b-2", "a2", "1"), pod("z-1", "z1", "1"),
			},
			steps: []string{"a-1: a1 → z1", "b-1: a2 → y1", "b-2: a2 → y1"}, emptied: []string{"a1", "a2"},
		},
		{
			name: "room in pieces that are too small", want: two, objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("y1", "3"), node("z1", "3"),
				pod("a-1", "a1", "2"), pod("b-1", "a2", "2"), pod("b-2", "a2", "2"),
			},
			kept: []string{"a: " + ReasonNotTogether},
		},
		{
			name: "nothing, where a domain has enough empty nodes", want: two,
			objects: racked(node("c1", "4", inRack("c")), node("c2", "4", inRack("c")), node("z1", "8")),
		},
		{
			name: "one more, where too few have", want: Domains{Key: rack, Nodes: 2, Count: 2},
			objects: racked(node("c1", "4", inRack("c")), node("c2", "4", inRack("c")), node("z1", "8")),
			steps:   []string{"a-1: a1 → z1", "b-1: a2 → z1"}, emptied: []string{"a1", "a2"},
		},
		{
			name: "nothing goes to empty nodes of a domain that has enough", want: Domains{Key: rack, Nodes: 2, Count: 2},
			objects: racked(node("c1", "4", inRack("c")), node("c2", "4", inRack("c")), node("c3", "4", inRack("c"))),
			kept:    []string{"a: " + ReasonLittleRoom, "b: " + ReasonLittleRoom},
		},
		{
			name: "nodes that are empty already count", want: Domains{Key: rack, Nodes: 3, Count: 1},
			objects: append(racked(node("b3", "1", inRack("b")), node("z1", "8")), node("a3", "4", inRack("a"), inZone("x"))),
			steps:   []string{"a-1: a1 → z1", "b-1: a2 → z1"}, emptied: []string{"a1", "a2", "a3"},
		},
		{
			name: "pods of DaemonSets stay with a node", want: two,
			objects: racked(pod("s-1", "a1", "0", ownedBy("DaemonSet")), node("z1", "8")),
			steps:   []string{"a-1: a1 → z1", "b-1: a2 → z1"}, emptied: []string{"a1", "a2"},
		},
		{
			name: "pods may go to other nodes of the domain", want: Domains{Key: rack, Nodes: 1, Count: 1},
			objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), pod("a-1", "a1", "1"), pod("b-1", "a2", "1"), pod("c-1", "a2", "1"),
			},
			steps: []string{"a-1: a1 → a2"}, emptied: []string{"a1"},
		},
		{
			name: "an empty node may be filled for two others", want: two,
			objects: []runtime.Object{
				node("a1", "2", inRack("a")), node("a2", "2", inRack("a")), node("a3", "4", inRack("a")),
				pod("a-1", "a1", "2"), pod("b-1", "a2", "2"),
			},
			steps: []string{"a-1: a1 → a3", "b-1: a2 → a3"}, emptied: []string{"a1", "a2"},
		},
		{
			name: "nodes without the label are of no domain", want: two, objects: append([]runtime.Object{
				node("a1", "4"), node("a2", "4", inRack("a")), node("a3", "4"), pod("a-1", "a2", "1"),
			}, rest...),
			kept: []string{"a: " + ReasonSmallDomain},
		},
		{
			name: "others make room", want: Domains{Key: rack, Nodes: 1, Count: 1}, objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("y1", "4"), node("z1", "3"),
				pod("a-1", "a1", "3"), pod("y-1", "y1", "2"), pod("z-1", "z1", "1", unowned),
			},
			steps: []string{"y-1: y1 → z1", "a-1: a1 → y1"}, emptied: []string{"a1"},
		},
		{
			name: "a budget for all nodes together", objects: racked(node("z1", "8")), want: two,
			change: func(p *Problem) { p.Budgets.Total = 1 },
			kept:   []string{"a: " + ReasonManyAtOnce, "b: " + ReasonFewNodes + ": 1 node: " + ReasonNoOtherPlace},
		},
		{
			name: "a disruption budget for all nodes together", want: two, objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("z1", "8"),
				pod("x-1", "a1", "1"), pod("x-2", "a2", "1"), protecting("x", 1),
			},
			kept: []string{"a: " + ReasonManyAtOnce},
		},
		{
			name: "a disruption budget that is used up", want: two, objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("z1", "8"),
				pod("x-1", "a1", "1"), pod("y-2", "a2", "1"), protecting("x", 0),
			},
			kept: []string{"a: " + ReasonFewNodes + ": 1 node: " + ReasonPodsStay + "; 1 pod: " + ReasonBudget},
		},
		{
			name: "nodes that give no room are neither empty nor emptied", want: two, objects: []runtime.Object{
				node("a1", "4", inRack("a"), cordoned), node("a2", "4", inRack("a"), readiness(corev1.ConditionFalse)),
				node("a3", "4", inRack("a"), softlyTainted(taintToBeDeleted)), node("a4", "4", inRack("a"), noted(annotationScaleDown, "true")),
				pod("x-1", "a4", "1"), node("z1", "8"),
			},
			kept: []string{
				"a: " + ReasonFewNodes + ": 1 node: " + ReasonNodeCordoned + "; 1 node: " + ReasonNodeGoes + "; 1 node: " + ReasonNodeKept +
					"; 1 node: " + ReasonNodeNotReady,
			},
		},
		{
			name: "nodes that muster has cordoned when it emptied them are empty", want: two, objects: racked(
				node("c1", "4", inRack("c")), node("c2", "4", inRack("c"), cordoned, noted(v1alpha1.AnnotationCordoned, "true")), node("z1", "8"),
			),
		},
		{
			name: "room that is kept is not empty", want: two, objects: racked(node("c1", "4", inRack("c")), node("c2", "4", inRack("c"))),
			change: func(p *Problem) {
				p.Reserved = []Reservation{{Pod: cluster.NewPod(pod("p-1", "", "1")), Node: p.Snapshot.NodeByName("c1").Index}}
			},
			steps: []string{"a-1: a1 → c1", "b-1: a2 → c2"}, emptied: []string{"a1", "a2"},
			kept: []string{"c: " + ReasonFewNodes + ": 1 node: " + ReasonNodeHeld},
		},
		{
			name: "pods that the predicates keep apart", want: two, objects: racked(
				pod("f-1", "a1", "0", apartBy(corev1.LabelHostname)), pod("f-2", "a2", "0", apartBy(corev1.LabelHostname)), node("z1", "8"),
				pod("f-3", "b1", "0", unowned, apartBy(corev1.LabelHostname)), pod("f-4", "b2", "0", unowned, apartBy(corev1.LabelHostname)),
			),
			kept: []string{
				"a: " + ReasonFewNodes + ": 1 node: " + ReasonNoOtherPlace,
				"b: " + ReasonFewNodes + ": 2 nodes: " + ReasonPodsStay + "; 2 pods: it has no controller that would replace it",
			},
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
			plan := problem.FreeDomains(test.want)
			checkPlan(t, problem, nil, plan)
			if diff := cmp.Diff(test.steps, said(plan)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.emptied, emptiedBy(plan)); diff != "" {
				t.Errorf("emptied (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.kept, keptBy(plan)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// emptiedBy are the nodes that a plan empties.
func emptiedBy(p *Plan) (emptied []string) {
	for _, node := range p.Emptied {
		emptied = append(emptied, node.Name)
	}
	return emptied
}

// TestADomainIsFreedOrNobodyMoves carries out plans to free zones of random clusters.
func TestADomainIsFreedOrNobodyMoves(t *testing.T) {
	freed, refused, already := 0, 0, 0
	enough := func() bool { return freed > 0 && refused > 0 && already > 0 }
	seeded.Until(t, enough, func(t *rapid.T) {
		_, problem := drawScene(t)
		want := Domains{
			Key: corev1.LabelTopologyZone, Nodes: rapid.IntRange(1, 3).Draw(t, "together"), Count: rapid.IntRange(1, 2).Draw(t, "count"),
		}
		plan := problem.FreeDomains(want)
		checkPlan(t, problem, nil, plan)
		again := problem.FreeDomains(want)
		if diff := cmp.Diff(append(said(plan), keptBy(plan)...), append(said(again), keptBy(again)...)); diff != "" {
			t.Fatalf("the same problem gives another plan (-first +second):\n%s", diff)
		}
		before, after := freeZones(problem, want.Nodes, nil), freeZones(problem, want.Nodes, plan.Steps)
		switch {
		case len(before) >= want.Count:
			already++
			if len(plan.Steps)+len(plan.Kept)+len(plan.Emptied) > 0 {
				t.Fatalf("%d zones are free, and pods move: %v, %v", len(before), said(plan), keptBy(plan))
			}
		case len(plan.Steps) > 0:
			freed++
			if len(after) <= len(before) || len(plan.Emptied) != want.Nodes {
				t.Fatalf("zones that were free: %v, that are: %v, %v are emptied by %v", before, after, emptiedBy(plan), said(plan))
			}
			for zone := range before {
				if !after[zone] {
					t.Fatalf("%s is not free any more by %v", zone, said(plan))
				}
			}
		default:
			zones := map[string]bool{}
			for node := range problem.Snapshot.Nodes() {
				zones[node.Labels[corev1.LabelTopologyZone]] = true
			}
			if refused++; len(plan.Kept) != len(zones)-len(before) || len(plan.Emptied) > 0 {
				t.Fatalf("no pod moves, and of %v it is said why: %v are free", keptBy(plan), before)
			}
		}
	})
	if !enough() {
		t.Errorf("%d zones were freed, %d times none could be, %d times enough were: too few to tell anything", freed, refused, already)
	}
}

func TestADomainIsFreedOrNobodyMovesWhenTimeRunsOut(t *testing.T) {
	late, freed := 0, 0
	enough := func() bool { return late > 0 && freed > 0 }
	seeded.Until(t, enough, func(t *rapid.T) {
		_, problem := drawScene(t)
		looks := rapid.IntRange(1, 60).Draw(t, "looks at the clock")
		problem.Clock = clockOf{&looks}
		plan := problem.FreeDomains(Domains{Key: corev1.LabelTopologyZone, Nodes: 1, Count: 3})
		checkPlan(t, problem, nil, plan)
		if (len(plan.Steps) > 0) != (len(plan.Emptied) == 1) {
			t.Fatalf("%v are emptied by %v", emptiedBy(plan), said(plan))
		}
		if freed += len(plan.Emptied); plan.Late {
			late++
		}
	})
	if !enough() {
		t.Errorf("time ran out %d times, and %d zones were freed: too few to tell anything", late, freed)
	}
}

// freeZones returns the zones with that number of empty nodes once steps are done.
func freeZones(problem *Problem, nodes int, steps []Step) map[string]bool {
	left := map[string]int{}
	for node := range problem.Snapshot.Nodes() {
		left[node.Name] += len(node.Pods)
	}
	for _, step := range steps {
		left[step.From.Name]--
		left[step.To.Name]++
	}
	empty, free := map[string]int{}, map[string]bool{}
	for node := range problem.Snapshot.Nodes() {
		if left[node.Name] == 0 && NoTarget(node) == "" {
			zone := node.Labels[corev1.LabelTopologyZone]
			if empty[zone]++; empty[zone] >= nodes {
				free[zone] = true
			}
		}
	}
	return free
}

func TestSetsAreTriedInTheOrderOfTheirCost(t *testing.T) {
	cost := map[int32]int64{1: 0, 2: 1, 3: 1, 4: 5, 5: 9}
	seen, last := map[string]bool{}, int64(0)
	for set, sum := range cheapestSets([]int32{1, 2, 3, 4, 5}, cost, 3) {
		if sum < last || seen[fmt.Sprint(set)] {
			t.Errorf("%v for %d comes after %d and %v", set, sum, last, seen)
		}
		seen[fmt.Sprint(set)], last = true, sum
	}
	if len(seen) != 10 {
		t.Errorf("there are %d sets of 3 of 5, want 10: %v", len(seen), seen)
	}
}

// drawDomains draws full nodes of a few domains, and says of each node which it is of.
func drawDomains(random *rand.Rand) (p puzzle, domain []int) {
	p = puzzle{hops: 1 + random.IntN(3)}
	pods := 0
	for range 3 + random.IntN(4) {
		var running []int
		for pods < 8 && random.IntN(3) > 0 {
			running, pods = append(running, 1+random.IntN(4)), pods+1
		}
		p.room, p.running = append(p.room, random.IntN(5)), append(p.running, running)
		domain = append(domain, random.IntN(2))
	}
	return p, domain
}

// freed counts the domains with that number of empty nodes, after pods have come and gone.
func (o *oracle) freed(domain []int, nodes int) (free []int) {
	left := make([]int, len(o.room))
	for _, node := range o.to {
		left[node]++
	}
	empty := map[int]int{}
	for node, pods := range left {
		if pods == 0 {
			empty[domain[node]]++
		}
	}
	for d := range 2 {
		if empty[d] >= nodes {
			free = append(free, d)
		}
	}
	return free
}

// TestADomainIsFreedWithAsFewEvictionsAsAnExhaustiveSearchFinds holds plans for small clusters against the best of all.
func TestADomainIsFreedWithAsFewEvictionsAsAnExhaustiveSearchFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tried, freed := 0, 0
	for tried < 150 {
		puzzle, domain := drawDomains(random)
		nodes := 1 + random.IntN(2)
		o := newOracle(puzzle, 1)
		o.worth = func() int { return min(1, len(o.freed(domain, nodes))) }
		known := o.try(0)
		if !known || o.best.evictions >= 6 || o.best == (outcome{1, 0}) {
			continue
		}
		tried++
		freed += o.best.placed
		s := puzzle.scene(t, func(i int) func(*corev1.Node) { return inRack(fmt.Sprint(domain[i])) })
		problem := s.problem(t)
		problem.Limits = Limits{Hops: puzzle.hops}
		plan := problem.FreeDomains(Domains{Key: rack, Nodes: nodes, Count: 1})
		checkPlan(t, problem, nil, plan)
		if got := (outcome{min(1, len(plan.Emptied)), len(plan.Steps)}); got != o.best {
			t.Errorf("%+v of %v, %d nodes: %+v, and the best is %+v:\n%q, %v", puzzle, domain, nodes, got, o.best, said(plan), keptBy(plan))
		}
	}
	if freed < 50 {
		t.Errorf("in %d of %d clusters a domain can be freed: too few to tell anything", freed, tried)
	}
}
