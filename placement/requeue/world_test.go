package requeue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// scheduler is kube-scheduler as far as a pod is put aside and tried again, with the API server
// behind it. Its attempts are steps of the test.
type scheduler struct {
	*process
	rand    *rand.Rand
	store   *predicates.VerdictStore
	pods    map[types.UID]*corev1.Pod // that wait
	bound   map[types.UID]*corev1.Pod
	aside   sets.Set[types.UID]
	deaf    sets.Set[types.UID] // those put aside that its own plugins have refused
	planned sets.Set[types.UID] // muster keeps room for them, and the scheduler does not ask about them
	created int
}

func newScheduler(t *testing.T, seed uint64) *scheduler {
	p := newProcess(t)
	s := &scheduler{
		process: p,
		rand:    rand.New(rand.NewPCG(seed, 0)),
		store:   p.profiles.Of(corev1.DefaultSchedulerName),
		pods:    map[types.UID]*corev1.Pod{},
		bound:   map[types.UID]*corev1.Pod{},
		aside:   sets.New[types.UID](),
		deaf:    sets.New[types.UID](),
		planned: sets.New[types.UID](),
	}
	p.heard = s.hear
	p.set(newNode("a", "3"), newNode("b", "2"))
	return s
}

// hear has pods tried again that were put aside.
func (s *scheduler) hear(woken *corev1.Pod, everybody bool) {
	for uid := range s.aside {
		lower := corev1helpers.PodPriority(s.pods[uid]) <= corev1helpers.PodPriority(woken)
		if everybody && lower || !everybody && uid == woken.UID && !s.deaf.Has(uid) {
			s.aside.Delete(uid)
			s.deaf.Delete(uid)
		}
	}
}

func (s *scheduler) some(from map[types.UID]*corev1.Pod) *corev1.Pod {
	if len(from) == 0 {
		return nil
	}
	return from[one(s, slices.Sorted(maps.Keys(from)))]
}

func one[T any](s *scheduler, of []T) T { return of[s.rand.IntN(len(of))] }

func (s *scheduler) create() {
	s.created++
	pod := newPod(fmt.Sprintf("p%03d", s.created), one(s, []string{"1", "1", "2", "3"}), ofPriority(s.rand.Int32N(2)))
	s.pods[pod.UID] = pod
	s.set(pod)
}

// plan has muster keep room for a pod, as the plan of a gang does.
func (s *scheduler) plan() {
	if pod := s.some(s.pods); pod != nil && s.cluster.Assumed(pod.UID) == "" && !s.aside.Has(pod.UID) {
		if node := s.place(pod); node != nil && s.cluster.AssumeAll([]*cluster.Pod{s.cluster.PendingPod(pod.UID)}, node) == nil {
			s.planned.Insert(pod.UID)
		}
	}
}

func (s *scheduler) giveUp() {
	for _, uid := range sets.List(s.planned) {
		s.cluster.Release(uid)
		s.planned.Delete(uid)
		return
	}
}

// place is a node that a pod fits.
func (s *scheduler) place(pod *corev1.Pod) *cluster.Node {
	view := s.store.ViewWithout(s.cluster.PendingPod(pod.UID), s.cluster.Assumed(pod.UID))
	defer view.Close()
	for node := range view.Snapshot.Nodes() {
		if view.Verdict(node.Index) == predicates.Fits {
			return view.Snapshot.Node(node.Index)
		}
	}
	return nil
}

// attempt is one to place a pod: it is bound, or the binding fails, or its answer is lost.
func (s *scheduler) attempt(pod *corev1.Pod, outcome string) {
	if s.aside.Has(pod.UID) || s.planned.Has(pod.UID) {
		return
	}
	node := s.place(pod)
	if node == nil {
		s.cluster.Release(pod.UID)
		next := pod.DeepCopy()
		unschedulable(next)
		s.pods[pod.UID] = next
		s.aside.Insert(pod.UID)
		if s.rand.IntN(4) == 0 {
			s.deaf.Insert(pod.UID)
		}
		s.set(next)
		return
	}
	if err := s.cluster.AssumeAll([]*cluster.Pod{s.cluster.PendingPod(pod.UID)}, node); err != nil {
		s.Fatal(err)
	}
	switch outcome {
	case "bound":
		next := pod.DeepCopy()
		next.Spec.NodeName = node.Name
		delete(s.pods, pod.UID)
		s.bound[pod.UID] = next
		s.set(next)
	case "refused":
		s.cluster.Release(pod.UID)
	case "lost": // the scheduler tries it again, muster counts it on
	}
}

// end is a bound pod that goes, which the scheduler sees.
func (s *scheduler) end() {
	if pod := s.some(s.bound); pod != nil {
		delete(s.bound, pod.UID)
		s.remove(pod)
		s.aside.Clear()
		s.deaf.Clear()
	}
}

// drop is a pod that goes before it is bound.
func (s *scheduler) drop() {
	if pod := s.some(s.pods); pod != nil {
		delete(s.pods, pod.UID)
		for _, set := range []sets.Set[types.UID]{s.aside, s.deaf, s.planned} {
			set.Delete(pod.UID)
		}
		s.remove(pod)
	}
}

// settle has all plans end and all bindings succeed, for longer than anything rests.
func (s *scheduler) settle() {
	for s.planned.Len() > 0 {
		s.giveUp()
	}
	for range 3 * int(mostRest/time.Second) {
		for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
			s.attempt(s.pods[uid], "bound")
		}
		s.after(time.Second)
	}
}

// step does something.
func (s *scheduler) step() {
	switch one(s, []string{"create", "create", "plan", "plan", "give up", "attempt", "attempt", "attempt", "end", "drop", "wait"}) {
	case "create":
		s.create()
	case "plan":
		s.plan()
	case "give up":
		s.giveUp()
	case "attempt":
		if pod := s.some(s.pods); pod != nil {
			s.attempt(pod, one(s, []string{"bound", "refused", "lost"}))
		}
	case "end":
		s.end()
	case "drop":
		s.drop()
	case "wait":
		s.refuse(s.rand.IntN(5) == 0)
		s.after(time.Duration(s.rand.IntN(10)) * time.Second)
		s.refuse(false)
	}
}

func TestNoPodWaitsBesideRoomForItWhateverKeptThat(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		var found string // rapid must not be stopped inside of the bubble
		synctest.Test(t, func(t *testing.T) {
			s := newScheduler(t, seed)
			s.start()
			defer s.stop()
			for range 80 {
				s.step()
			}
			s.settle()
			for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
				if node := s.place(s.pods[uid]); node != nil {
					found = fmt.Sprintf("%s waits, and fits on %s; put aside: %t, deaf: %t", uid, node.Name, s.aside.Has(uid), s.deaf.Has(uid))
				}
			}
		})
		if found != "" {
			rt.Fatal(found)
		}
	})
}
