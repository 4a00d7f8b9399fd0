package planner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// going is a pod that is being deleted, and has to be gone after a time.
func going(in time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now().Add(in))) }
}

func TestNobodyMovesForRoomThatOthersLeaveByThemselves(t *testing.T) {
	const soon, centuries = 30 * time.Second, 9_000_000_000 * time.Second
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		want    []string
	}{
		{
			"a pod that fits once another one has gone", []runtime.Object{
				node("a", "4"), node("b", "4"), pod("g-1", "a", "4", going(soon)), pod("x-1", "b", "1"), pod("p-1", "", "4"),
				node("c", "1"),
			}, []string{"p-1: at a after 0"},
		},
		{
			"one that goes in centuries is waited for by nobody", []runtime.Object{
				node("a", "4"), node("b", "4"), pod("g-1", "a", "4", going(centuries)), pod("x-1", "b", "1"), pod("p-1", "", "4"),
				node("c", "1"),
			}, []string{"x-1: b → c", "p-1: at b after 1"},
		},
		{
			"one that should have gone long ago is waited for by nobody", []runtime.Object{
				node("a", "4"), node("b", "4"), pod("g-1", "a", "4", going(-time.Hour)), pod("x-1", "b", "1"), pod("p-1", "", "4"),
				node("c", "1"),
			}, []string{"x-1: b → c", "p-1: at b after 1"},
		},
		{
			"a port is free then, too", []runtime.Object{
				node("a", "4"), pod("g-1", "a", "1", going(soon), onPort(80)), node("b", "4"), pod("x-1", "b", "1", onPort(80)),
				pod("p-1", "", "4", onPort(80)), node("c", "1"),
			}, []string{"p-1: at a after 0"},
		},
		{
			"what is left of it is for one of two that wait", []runtime.Object{
				node("a", "4"), node("b", "4"), pod("g-1", "a", "4", going(soon)), pod("x-1", "b", "1"),
				pod("p-1", "", "4"), pod("q-1", "", "4"), node("c", "1"),
			}, []string{"p-1: at a after 0", "x-1: b → c", "q-1: at b after 1"},
		},
		{
			"the place of a pod that moves is there at once", []runtime.Object{
				node("a", "4"), node("b", "1"), pod("g-1", "b", "1", going(soon)), pod("x-1", "a", "1"), pod("p-1", "", "4"),
			}, []string{"default/p-1: " + ReasonNoHomes},
		},
		{
			"a gang with one pod that fits once another pod has gone", []runtime.Object{
				node("a", "4"), node("b", "4"), pod("g-1", "a", "4", going(soon)),
				pod("p-1", "", "4", inGang("p", 2)), pod("p-2", "", "4", inGang("p", 2)),
			}, []string{"p-1: at b after 0", "p-2: at a after 0"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			s.set(t, test.objects...)
			plan := s.problem(t).MakeRoom(s.groups())
			got := map[string]bool{}
			for _, line := range said(plan) {
				got[line] = true
			}
			want := map[string]bool{}
			for _, line := range test.want {
				want[line] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, p := range plan.Placements {
				if awaits := p.Node.Name == "a"; p.Awaits != awaits { // from there others go
					t.Errorf("%s at %s awaits others: %v, want %v", p.Pod.Name, p.Node.Name, p.Awaits, awaits)
				}
			}
		})
	}
}

func TestANodeThatBecomesEmptyByItselfIsNeitherEmptiedNorFilled(t *testing.T) {
	s := newScene()
	s.set(t, node("a", "4"), node("b", "4"), node("c", "4"),
		pod("g-1", "a", "1", going(time.Minute)), pod("x-1", "b", "1"), pod("y-1", "c", "2"), pod("g-2", "b", "1", going(time.Minute)))
	plan := s.problem(t).Coalesce(nil, 0)
	if diff := cmp.Diff([]string{"x-1: b → c"}, said(plan)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(plan.Emptied) != 1 || plan.Emptied[0].Name != "b" {
		t.Errorf("emptied are %v, want b", plan.Emptied)
	}
}

func TestADomainWhoseNodesBecomeEmptyByThemselvesIsFree(t *testing.T) {
	s := newScene()
	s.set(t, node("a1", "4", inRack("a")), node("a2", "4", inRack("a")), node("b1", "4", inRack("b")), node("b2", "4", inRack("b")),
		pod("g-1", "a1", "1", going(time.Minute)), pod("x-1", "b1", "1"), pod("y-1", "b2", "1"))
	if plan := s.problem(t).FreeDomains(Domains{Key: rack, Nodes: 2, Count: 1}); len(plan.Steps) > 0 {
		t.Errorf("pods move: %v", said(plan))
	}
}

func TestANodeIsRelievedByWhatLeavesItself(t *testing.T) {
	for name, test := range map[string]struct {
		leaves int64
		want   []string
	}{
		"enough leaves": {15, nil},
		"some leaves":   {5, []string{"u-1: a → b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("a", "10"), node("b", "10"), pod("g-1", "a", "1", going(time.Minute)), pod("u-1", "a", "1"), pod("v-1", "a", "2"),
				pod("w-1", "a", "1", unowned))
			problem := s.problem(t)
			h := heat{bears: map[string]int64{"a": 79}, pods: map[string]int64{"g-1": test.leaves, "u-1": 10, "v-1": 10, "w-1": 70 - test.leaves}}
			problem.Load = h.load()
			if diff := cmp.Diff(test.want, said(relieve(problem, "a"))); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNobodyMovesAwayFromAPodThatLeavesByItself(t *testing.T) {
	s := newScene()
	s.set(t, node("a", "4"), node("b", "4"), pod("x-1", "a", "1", apartBy(corev1.LabelHostname)),
		pod("x-2", "a", "1", apartBy(corev1.LabelHostname), going(time.Minute)))
	problem := s.problem(t)
	var wishes []Wish
	for _, pod := range problem.Snapshot.NodeByName("a").Pods {
		if pod.DeletionTimestamp == nil {
			wishes = append(wishes, Wish{Pod: pod, Why: "is where it should not be", While: func(at Place) bool {
				return len(at.Against()) > 0
			}})
		}
	}
	if plan := problem.Relocate(wishes); len(plan.Steps)+len(plan.Unmoved) > 0 {
		t.Errorf("it moves, or should: %v, %v", said(plan), plan.Unmoved)
	}
}
