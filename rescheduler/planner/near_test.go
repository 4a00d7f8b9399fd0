package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// nearGang are pods of a gang that start together and ask something of the network.
func nearGang(count int, cpu, asks string, change ...func(*corev1.Pod)) (pods []runtime.Object) {
	for i := range count {
		pods = append(pods, pod(fmt.Sprint("g-", i), "", cpu, append(change, inGang("g", count), annotated(asks, rack))...))
	}
	return pods
}

// manyInOneZone are nodes of a rack that look good for members of a gang that have to be in different zones.
func manyInOneZone() (nodes []runtime.Object) {
	for i := range 12 {
		name := fmt.Sprint("a", i)
		nodes = append(nodes, node(name, "4", inRack("a"), inZone("z")), pod(fmt.Sprintf("x%d-1", i), name, "0", unowned))
	}
	return nodes
}

func TestMakeRoomInOneDomain(t *testing.T) {
	required, preferred := v1alpha1.AnnotationRequiredTopology, v1alpha1.AnnotationPreferredTopology
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		change  func(*Problem)
		want    []string
		why     string // of the first place, or of the refusal
	}{
		{
			name: "a rack is freed by one move, though there is room in sum", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("c1", "2"),
				pod("x-1", "a2", "2"),
			}, nearGang(2, "4", required)...),
			want: []string{"g-0: at a1 after 0", "x-1: a2 → c1", "g-1: at a2 after 1"},
			why:  "a1 has room; a by topology.kubernetes.io/rack lacks room for 1 of its pods, and one move frees it",
		},
		{
			name: "the cheapest of two racks", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("b2", "4", inRack("b")),
				node("c1", "4"), pod("w-1", "a1", "1"), pod("x-1", "a2", "1"), pod("y-1", "b1", "2"),
			}, nearGang(2, "4", required)...),
			want: []string{"g-0: at b2 after 0", "y-1: b1 → a1", "g-1: at b1 after 1"},
		},
		{
			name: "beside the pods that are there", objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("c1", "2"),
				pod("x-1", "a2", "2"), pod("g-0", "a1", "4", inGang("g", 2), annotated(required, rack)),
				pod("g-1", "", "4", inGang("g", 2), annotated(required, rack)),
			},
			want: []string{"x-1: a2 → c1", "g-1: at a2 after 1"},
		},
		{
			name: "beside the pods whose places are kept", change: func(p *Problem) {
				there := cluster.NewPod(pod("g-0", "", "4", inGang("g", 2), annotated(required, rack)))
				p.Reserved = []Reservation{{Pod: there, Node: p.Snapshot.NodeByName("a1").Index}}
			},
			objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("c1", "2"),
				pod("x-1", "a2", "2"), pod("g-1", "", "4", inGang("g", 2), annotated(required, rack)),
			},
			want: []string{"x-1: a2 → c1", "g-1: at a2 after 1"},
		},
		{
			name: "the rack with room for more than must start", objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("b1", "4", inRack("b")), node("b2", "4", inRack("b")), node("c1", "2"), pod("y-1", "b1", "2"),
				pod("g-0", "", "4", inGang("g", 1), annotated(required, rack)), pod("g-1", "", "4", inGang("g", 1), annotated(required, rack)),
			},
			want: []string{"g-0: at b2 after 0", "y-1: b1 → c1", "g-1: at b1 after 1"},
		},
		{
			name: "more than must start are in the same rack or nowhere", objects: []runtime.Object{
				node("a1", "4", inRack("a")), node("b1", "5", inRack("b")),
				pod("g-0", "", "4", inGang("g", 1), annotated(required, rack)), pod("g-1", "", "4", inGang("g", 1), annotated(required, rack)),
			},
			want: []string{"g-0: at a1 after 0"},
		},
		{
			name: "nobody moves where no rack is large enough", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("c1", "8"),
				pod("x-1", "a2", "2"), pod("y-1", "b1", "2"),
			}, nearGang(3, "4", required)...),
			want: []string{"default/g: " + ReasonNoDomain},
			why:  "a by topology.kubernetes.io/rack lacks room for 2 of its pods",
		},
		{
			name: "a disruption budget is respected", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("b1", "4", inRack("b")), node("b2", "4", inRack("b")), node("c1", "3"),
				node("a2", "4", inRack("a")), pod("x-1", "a2", "2"), protecting("x", 0), pod("y-1", "b1", "2"), pod("z-1", "b2", "3"),
			}, nearGang(2, "4", required)...),
			want: []string{"y-1: b1 → a2", "z-1: b2 → c1", "g-0: at b1 after 2", "g-1: at b2 after 2"},
		},
		{
			name: "so are priorities", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("c1", "4"), pod("x-1", "a2", "2", priority(5)),
			}, nearGang(2, "4", required, priority(4))...),
			want: []string{"default/g: " + ReasonNoDomain},
		},
		{
			name: "pods move within the rack", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("a3", "4", inRack("a")), node("b1", "1"),
				pod("x-1", "a1", "2"), pod("y-1", "a2", "2"), pod("z-1", "a3", "4"),
			}, nearGang(1, "4", required)...),
			want: []string{"x-1: a1 → a2", "g-0: at a1 after 1"},
		},
		{
			name: "nobody moves for a rack that is preferred", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("c1", "2"),
				pod("x-1", "a2", "2"),
			}, nearGang(2, "4", preferred)...),
			want: []string{"g-0: at a1 after 0", "g-1: at b1 after 0"},
		},
		{
			name: "who has to move anyway, moves from the rack that is preferred", objects: append([]runtime.Object{
				node("a1", "4", inRack("a")), node("b1", "4", inRack("b")), node("b2", "4", inRack("b")), node("c1", "3"),
				pod("w-1", "b1", "2"), pod("x-1", "a1", "1"), pod("z-1", "c1", "1"),
			}, nearGang(2, "4", preferred)...),
			want: []string{"g-0: at b2 after 0", "w-1: b1 → c1", "g-1: at b1 after 1"},
		},
		{
			name: "in another rack where the predicates object to one", objects: slices.Concat(manyInOneZone(), []runtime.Object{
				node("b1", "4", inRack("b"), inZone("z")), node("b2", "4", inRack("b"), inZone("y")), node("c1", "3"), pod("w-1", "b1", "3"),
			}, nearGang(2, "4", required, apartBy(corev1.LabelTopologyZone))),
			want: []string{"g-0: at b2 after 0", "w-1: b1 → c1", "g-1: at b1 after 1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			s.set(t, test.objects...)
			problem := s.problem(t)
			if test.change != nil {
				test.change(problem)
			}
			groups := problem.Pending(s.waiting)
			plan := problem.MakeRoom(groups)
			checkPlan(t, problem, groups, plan)
			checkNear(t, plan)
			got := inOrder(plan)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			why := ""
			if len(plan.Placements) > 0 {
				why = plan.Placements[0].Why
			} else if len(plan.Unplaced) > 0 {
				why = plan.Unplaced[0].String()
			}
			if !strings.Contains(why, test.why) {
				t.Errorf("it is said %q, want %q", why, test.why)
			}
		})
	}
}

// inOrder is said with steps and places as they come.
func inOrder(p *Plan) (lines []string) {
	all, places := said(p), len(p.Steps)
	for n := range len(p.Steps) + 1 {
		for _, place := range p.Placements {
			if place.After == n {
				lines = append(lines, all[places])
				places++
			}
		}
		if n < len(p.Steps) {
			lines = append(lines, all[n])
		}
	}
	return append(lines, all[places:]...)
}

// checkNear fails where pods of a gang that has to be in one rack have places in two.
func checkNear(t reporter, plan *Plan) {
	racks := map[string]string{}
	for _, place := range plan.Placements {
		if place.Pod.Annotations[v1alpha1.AnnotationRequiredTopology] == "" {
			continue
		}
		in, has := place.Node.Labels[rack]
		if before, known := racks[place.Group]; !has || known && before != in {
			t.Fatalf("pods of %s are in racks %q and %q", place.Group, before, in)
		}
		racks[place.Group] = in
	}
}

// TestRoomInOneDomainIsMadeAsCheaplyAsCanBe holds plans for small clusters against an exhaustive search.
func TestRoomInOneDomainIsMadeAsCheaplyAsCanBe(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tried, moved, none := 0, 0, 0
	for tried < 60 {
		p := drawPuzzle(random)
		size := 2 + random.IntN(3)
		p.pending = slices.Repeat([]int{size}, 1+random.IntN(3))
		want, known := p.inOneRack()
		if !known || want.evictions >= 6 {
			continue
		}
		tried++
		switch {
		case want.placed == 0:
			none++
		case want.evictions > 0:
			moved++
		}
		puzzle := p
		puzzle.pending = nil
		s := puzzle.scene(t, func(at int) func(*corev1.Node) { return inRack(fmt.Sprint(at % 2)) })
		s.set(t, nearGang(len(p.pending), fmt.Sprint(size), v1alpha1.AnnotationRequiredTopology)...)
		problem := s.problem(t)
		problem.Limits = Limits{Hops: p.hops, Patience: 1000}
		plan := problem.MakeRoom(s.groups())
		checkPlan(t, problem, s.groups(), plan)
		checkNear(t, plan)
		if got := (outcome{len(plan.Placements), len(plan.Steps)}); got != want {
			t.Errorf("%+v: %+v, and the best is %+v:\n%q", p, got, want, said(plan))
		}
	}
	if moved < 10 || none < 5 {
		t.Errorf("of %d clusters, pods have to move in %d, and no moves help in %d: too few to tell anything", tried, moved, none)
	}
}

// inOneRack is the best that can be where all pending pods get a place in one of two racks, nodes of even and of odd numbers, or none
// gets one.
func (p puzzle) inOneRack() (best outcome, known bool) {
	best = outcome{0, 0}
	for parity := range 2 {
		o := newOracle(p, len(p.pending))
		o.worth = func() int {
			var free []int
			for node, room := range o.free {
				if node%2 == parity {
					free = append(free, room)
				}
			}
			if pack(free, o.pending) < len(o.pending) {
				return 0
			}
			return len(o.pending)
		}
		if !o.try(0) {
			return outcome{}, false
		}
		if o.best.over(best) {
			best = o.best
		}
	}
	return best, true
}

// TestDomainsThatAreTriedForAGroupAreBounded has hundreds of racks that look alike, and no place for who would have to move.
func TestDomainsThatAreTriedForAGroupAreBounded(t *testing.T) {
	s := newScene()
	for i := range 300 {
		name := fmt.Sprint("n", i)
		s.set(t, node(name, "4", inRack(name)), pod(fmt.Sprintf("x%d-1", i), name, "3"))
	}
	s.set(t, nearGang(1, "4", v1alpha1.AnnotationRequiredTopology)...)
	problem, tried := s.problem(t), map[string]bool{}
	problem.Bars = func(pod *cluster.Pod, node *clusterNode) bool {
		if pod.Name == "g-0" {
			tried[node.Name] = true
		}
		return false
	}
	newPlacing(newSearch(problem, s.groups())).construct()
	if len(tried) != mostDomains {
		t.Errorf("%d racks were tried", len(tried))
	}
}
