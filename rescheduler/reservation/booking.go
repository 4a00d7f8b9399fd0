package reservation

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// Booking is room that pods are to have from a time on, on nodes that have not all room for them yet. Nothing is taken from pods that
// run. Others are kept off a node only where they would be in the way: they do not end before that time, and do not fit beside the pods
// that the room is for. So it binds nobody who needs another resource, and short pods use the room meanwhile. Pods of higher priority,
// and pods that no plan keeps out, go anywhere.
type Booking struct {
	Priority int32
	From     time.Time // on the clock of the Keeper
	// Own reports whether the room is for a pod.
	Own func(pod *cluster.Pod) bool
	// Pods are the pods that the room is for, by the names of their nodes.
	Pods map[string][]*cluster.Pod
	// Ending are pods on these nodes that are expected to be gone by then.
	Ending sets.Set[types.UID]
	// Runtime returns how long a pod runs, and false if that is not known.
	Runtime func(pod *cluster.Pod) (time.Duration, bool)
}

// Book keeps room from a time on, in place of what was booked before; nil books none.
func (k *Keeper) Book(b *Booking) {
	var next *booked
	if b != nil {
		next = &booked{Booking: b, then: map[string]nodeThen{}}
	}
	if before := k.booked.Swap(next); before != nil && before.keepsMoreThan(next) {
		k.cluster.NoteFreed()
	}
}

// booked is a booking that is in force.
type booked struct {
	*Booking

	mu   sync.Mutex
	then map[string]nodeThen
}

// nodeThen is a node as it will be when the booking begins, made of how it is now.
type nodeThen struct{ now, then *cluster.Node }

// keepsMoreThan reports whether pods may go somewhere by the next booking where they may not now.
func (b *booked) keepsMoreThan(next *booked) bool {
	if next == nil || next.From.Sub(b.From) > time.Second {
		return true
	}
	for node := range b.Pods {
		if len(next.Pods[node]) < len(b.Pods[node]) {
			return true
		}
	}
	return false
}

// leftTo returns the nodes that a booking keeps pods of a profile away from: where they would be in the way of it, were they there
// together. A pod is not in its own way on the node where it counts already.
func (k *Keeper) leftTo(pods []*cluster.Pod, store *predicates.VerdictStore) sets.Set[string] {
	b := k.booked.Load()
	if b == nil {
		return nil
	}
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod *cluster.Pod) bool { return b.passes(pod, k.clock.Now()) })
	if len(pods) == 0 {
		return nil
	}
	on := make([]string, len(pods))
	for i, pod := range pods {
		on[i] = k.cluster.Assumed(pod.UID)
	}
	snap, left := k.cluster.Snapshot(), sets.New[string]()
	judges := judges{world: scenario.New(snap), store: store, of: map[predicates.Class]*scenario.Judge{}}
	for name := range b.Pods {
		node := snap.NodeByName(name)
		if node == nil {
			continue
		}
		then := b.at(node)
		for i, pod := range pods {
			if on[i] == name {
				continue
			}
			if !judges.judge(pod).FitsIn(then) {
				left.Insert(name)
				break
			}
			then = then.WithPod(pod)
		}
	}
	return left
}

// passes reports whether a pod goes anywhere: the room is for it, or it has a higher priority, or ends before.
func (b *booked) passes(pod *cluster.Pod, now time.Time) bool {
	if b.Own(pod) || corev1helpers.PodPriority(pod.Pod) > b.Priority || Passes(pod) {
		return true
	}
	runtime, known := b.Runtime(pod)
	return known && !now.Add(runtime).After(b.From)
}

// judges judge pods of one profile, those alike once.
type judges struct {
	world *scenario.Scenario
	store *predicates.VerdictStore
	of    map[predicates.Class]*scenario.Judge
}

func (j *judges) judge(pod *cluster.Pod) *scenario.Judge {
	class := j.store.ClassOf(pod)
	if known := j.of[class]; known != nil && !class.None() {
		return known
	}
	judge := j.world.Judge(j.store.Profile.JudgeFit(pod, j.world.Snapshot()))
	j.of[class] = judge
	return judge
}

// at returns a node as it will be: without pods that will have ended, and with the pods that the room is for.
func (b *booked) at(node *cluster.Node) *cluster.Node {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.then[node.Name]
	if known.now == node {
		return known.then
	}
	then := node.Without(func(pod *cluster.Pod) bool { return b.Ending.Has(pod.UID) })
	for _, pod := range b.Pods[node.Name] {
		if !slices.ContainsFunc(node.Pods, func(other *cluster.Pod) bool { return other.UID == pod.UID }) {
			then = then.WithPod(pod)
		}
	}
	b.then[node.Name] = nodeThen{node, then}
	return then
}
