package reservation

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// booking is for a pod of two CPUs on node a in a minute, when the pod ending has left it.
func (w *world) booking(from time.Duration) *Booking {
	own := cluster.NewPod(w.pod("own", "2"))
	return &Booking{
		From: time.Now().Add(from), Own: func(pod *cluster.Pod) bool { return pod.UID == own.UID },
		Pods: map[string][]*cluster.Pod{"a": {own}}, Ending: sets.New[types.UID]("ending"),
		Runtime: func(pod *cluster.Pod) (time.Duration, bool) {
			runtime, err := time.ParseDuration(pod.Labels["runs"])
			return runtime, err == nil
		},
	}
}

// leftTo returns the nodes that a pod is kept away from, as filter, a plan and an offer ask for it.
func (w *world) leftTo(pod *corev1.Pod) []string {
	w.Helper()
	known := cluster.NewPod(pod)
	left := w.keeper.Claim(known, w.keeper.profiles.Of(pod.Spec.SchedulerName).Profile).Left
	if by := w.keeper.LeftBy(known); !by.Equal(left) {
		w.Errorf("filter leaves %v, an offer %v", sets.List(left), sets.List(by))
	}
	if by := w.keeper.Left([]*cluster.Pod{known}); !by.Equal(left) {
		w.Errorf("filter leaves %v, a plan %v", sets.List(left), sets.List(by))
	}
	return sets.List(left)
}

func (w *world) running(name, cpu, on string) {
	w.Helper()
	pod := w.pod(name, cpu)
	pod.UID, pod.Spec.NodeName = types.UID(name), on
	w.set(pod)
}

func TestABookingKeepsPodsOffThatWouldBeInTheWay(t *testing.T) {
	runs := func(runtime string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels = map[string]string{"runs": runtime} }
	}
	for name, test := range map[string]struct {
		cpu    string
		change func(*corev1.Pod)
		want   []string
	}{
		"its own pod":              {"2", func(p *corev1.Pod) { p.UID = types.UID("own") }, []string{}},
		"one that fits beside it":  {"1", nil, []string{}},
		"one that does not":        {"2", nil, []string{"a"}},
		"one that ends before":     {"2", runs("59s"), []string{}},
		"one that ends after":      {"2", runs("61s"), []string{"a"}},
		"one of higher priority":   {"2", func(p *corev1.Pod) { p.Spec.Priority = new(int32(1)) }, []string{}},
		"one of the same priority": {"2", func(p *corev1.Pod) { p.Spec.Priority = new(int32(0)) }, []string{"a"}},
		"one of the system": {"2", func(p *corev1.Pod) {
			p.Spec.Priority = new(int32(2_000_000_000))
		}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, promised := range []bool{false, true} {
				w := newWorld(t)
				w.node("a", "4")
				w.node("b", "4")
				w.running("ending", "2", "a")
				w.running("staying", "1", "a")
				if promised { // somebody else's room is kept as well
					w.hold("b")
				}
				b := w.booking(time.Minute)
				b.Pods["a"][0].UID = "own"
				w.keeper.Book(b)
				pod := w.pod("p", test.cpu)
				if test.change != nil {
					test.change(pod)
				}
				if diff := cmp.Diff(test.want, w.leftTo(pod)); diff != "" {
					t.Errorf("nodes that are left (-want +got):\n%s", diff)
				}
				w.running("beside", "1", "a") // it has come meanwhile
				if test.cpu == "1" {
					if diff := cmp.Diff([]string{"a"}, w.leftTo(pod)); diff != "" {
						t.Errorf("nodes that are left to another one (-want +got):\n%s", diff)
					}
				}
			}
		})
	}
}

func TestAPodIsNotInItsOwnWayWhereItCountsAlready(t *testing.T) {
	w := newWorld(t)
	w.node("a", "3")
	b := w.booking(time.Minute)
	w.keeper.Book(b)
	pod := w.pod("p", "1")
	w.set(pod)
	if err := w.cluster.AssumeAll([]*cluster.Pod{w.cluster.PendingPod("p")}, w.cluster.Snapshot().NodeByName("a")); err != nil {
		t.Fatal(err)
	}
	if left := w.leftTo(pod); len(left) > 0 {
		t.Errorf("it is kept away from %v, where it has its place beside the gang", left)
	}
	if left := w.leftTo(w.pod("q", "1")); len(left) != 1 {
		t.Errorf("another one is kept away from %v, want the node", left)
	}
}

func TestPodsThatComeTogetherAreKeptOffWhereTheyDoNotFitTogether(t *testing.T) {
	for count, want := range map[int]int{1: 0, 2: 0, 3: 1} {
		w := newWorld(t)
		w.node("a", "4")
		w.keeper.Book(w.booking(time.Minute))
		var pods []*cluster.Pod
		for i := range count {
			pods = append(pods, cluster.NewPod(w.pod(fmt.Sprint("p-", i), "1")))
		}
		if left := w.keeper.Left(pods); len(left) != want {
			t.Errorf("%d pods are kept away from %v, and two fit beside the gang", count, sets.List(left))
		}
	}
}

func TestPodsAreTriedAgainWhenABookingKeepsLess(t *testing.T) {
	for name, test := range map[string]struct {
		next  func(w *world) *Booking
		freed bool
	}{
		"it is over":    {func(*world) *Booking { return nil }, true},
		"it is later":   {func(w *world) *Booking { return w.booking(2 * time.Minute) }, true},
		"it is sooner":  {func(w *world) *Booking { return w.booking(30 * time.Second) }, false},
		"it is as ever": {func(w *world) *Booking { return w.booking(time.Minute) }, false},
		"it moves": {func(w *world) *Booking {
			b := w.booking(time.Minute)
			b.Pods["b"], b.Pods["a"] = b.Pods["a"], nil
			return b
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("a", "4")
			w.keeper.Book(w.booking(time.Minute))
			before := w.cluster.Snapshot().Freed
			w.keeper.Book(test.next(w))
			if freed := w.cluster.Snapshot().Freed != before; freed != test.freed {
				t.Errorf("something is freed: %t, want %t", freed, test.freed)
			}
		})
	}
}
