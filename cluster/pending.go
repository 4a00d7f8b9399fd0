package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// PodEvent says whether a pod waits to be scheduled. A pod that is held back by
// scheduling gates, is being deleted or has finished does not.
type PodEvent struct {
	UID types.UID
	// Pod is the pod as the watch last showed it, nil when it waits no more.
	Pod *Pod
	// Node is where a pod that waits no more was bound, "" when it was not.
	Node string
}

// waiting has the pods without a node, and their followers.
type waiting struct {
	view   *view
	ledger *ledger

	pending   map[types.UID]*Pod // pods without a node
	nominated map[types.UID]*Pod // pending pods that have a nominated node and are not being deleted
	followers followers[PodEvent]
	ofGated   followers[PodEvent] // followers of gated pods as well
	awaited   map[types.UID]*arrival
	newcomers newcomers
}

// FollowPending has a function told which pods wait now, in the order of their names, and
// of every later change of one of them, in the order of the watch, until stop is called.
// A pod that does not wait may be told more than once. The function is called while the
// cluster is locked: it must return at once and not call the cluster.
func (c *Cluster) FollowPending(follow func(PodEvent)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.tellAll(waits, follow)
	return c.waiting.followers.add(&c.mu, follow)
}

// FollowGated is FollowPending that also tells of pods held back by scheduling gates.
func (c *Cluster) FollowGated(follow func(PodEvent)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.tellAll(willWait, follow)
	return c.waiting.ofGated.add(&c.mu, follow)
}

func (w *waiting) tellAll(which func(*corev1.Pod) bool, follow func(PodEvent)) {
	for _, pod := range slices.SortedFunc(maps.Values(w.pending), byName) {
		if which(pod.Pod) {
			follow(PodEvent{UID: pod.UID, Pod: pod})
		}
	}
}

// Placed returns a pod that the watch has shown on a node, and that node; nil when it has not.
func (c *Cluster) Placed(uid types.UID) (pod *Pod, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, counts := c.ledger.placed[uid]
	if !counts || at.unseen() {
		return nil, ""
	}
	return at.pod, at.node
}

// Pending returns all pods without a node, gated pods included, by name.
func (c *Cluster) Pending() []*Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.waiting.pending), byName)
}

// Orphans returns all pods that the watch shows on a node which is not known, as one that is gone, by
// name.
func (c *Cluster) Orphans() (orphans []*Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pods := range c.ledger.orphans {
		for _, pod := range pods {
			if pod.Spec.NodeName != "" {
				orphans = append(orphans, pod)
			}
		}
	}
	slices.SortFunc(orphans, byName)
	return orphans
}

func byName(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// set keeps a pod that has no node.
func (w *waiting) set(pod *Pod) {
	w.pending[pod.UID] = pod
	told := func(which func(*corev1.Pod) bool) PodEvent {
		if which(pod.Pod) {
			return PodEvent{UID: pod.UID, Pod: pod}
		}
		return PodEvent{UID: pod.UID}
	}
	w.newcomers.follow(pod.UID, pod, w.ledger.clock.Now())
	w.nominate(pod.UID, told(willWait).Pod) // kube-scheduler keeps the room of gated ones as well
	w.followers.tell(told(waits))
	w.ofGated.tell(told(willWait))
}

// remove drops a pod that is bound to a node, or gone if that is "".
func (w *waiting) remove(uid types.UID, node string) {
	if _, pending := w.pending[uid]; !pending {
		return
	}
	delete(w.pending, uid)
	w.newcomers.follow(uid, nil, time.Time{})
	w.nominate(uid, nil)
	w.followers.tell(PodEvent{UID: uid, Node: node})
	w.ofGated.tell(PodEvent{UID: uid, Node: node})
}

// waits reports whether a pod without a node is for a scheduler to place.
func waits(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) == 0 && willWait(pod) }

// willWait reports whether a pod without a node waits once its gates are lifted.
func willWait(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }

// Nominated returns the waiting or gated pods that somebody has nominated to a node (status.nominatedNodeName),
// except pods that count on a node already: the most important first. It is nil when there are none.
//
// kube-scheduler takes the room of such a pod as taken when it tries pods of lower or equal
// priority (addNominatedPods in pkg/scheduler/framework/runtime/framework.go).
func (c *Cluster) Nominated() []*Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []*Pod
	for uid, pod := range c.waiting.nominated {
		if _, counts := c.ledger.placed[uid]; !counts {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *Pod) int {
		return cmp.Or(
			cmp.Compare(corev1helpers.PodPriority(b.Pod), corev1helpers.PodPriority(a.Pod)),
			cmp.Compare(a.UID, b.UID),
		)
	})
	return pods
}

// nominate follows a pod that waits or is gated, nil for one that does neither any more. For a pod that counts
// on a node the journal says all that matters.
func (w *waiting) nominate(uid types.UID, pod *Pod) {
	if pod != nil && pod.Status.NominatedNodeName == "" {
		pod = nil
	}
	before := w.nominated[uid]
	if pod != nil {
		w.nominated[uid] = pod
	} else {
		delete(w.nominated, uid)
	}
	if _, counts := w.ledger.placed[uid]; counts || before == nil && pod == nil ||
		before != nil && pod != nil && before.Status.NominatedNodeName == pod.Status.NominatedNodeName {
		return
	}
	w.view.enter(Change{Node: -1, Aspects: AspectNominated, Object: key(cmp.Or(pod, before))})
}

// arrival is a pod that somebody waits for the watch to show.
type arrival struct {
	shown   chan struct{}
	waiting int
}

// AwaitPending is PendingPod, except that it waits for a pod that the watch has not shown yet, or not with its
// claims. It waits until the watch shows the pod, at most for the given time or until the context ends:
// kube-scheduler follows the API server by watches of its own, which may be ahead of these.
func (c *Cluster) AwaitPending(ctx context.Context, uid types.UID, longest time.Duration) *Pod {
	c.mu.Lock()
	pod, a := c.waiting.await(uid)
	c.mu.Unlock()
	if a == nil {
		return pod
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-a.shown:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.arrived(uid, a)
}

// await returns a pending pod, or what to wait for if the watch shows none, neither pending nor on
// a node, or lacks a claim of it.
func (w *waiting) await(uid types.UID) (*Pod, *arrival) {
	pod := w.pending[uid]
	if _, placed := w.ledger.placed[uid]; pod == nil && placed || pod != nil && pod.ClaimProblem != ClaimMissing {
		return pod, nil
	}
	a := w.awaited[uid]
	if a == nil {
		a = &arrival{shown: make(chan struct{})}
		w.awaited[uid] = a
	}
	a.waiting++
	return nil, a
}

// arrived ends a wait.
func (w *waiting) arrived(uid types.UID, a *arrival) *Pod {
	if a.waiting--; a.waiting == 0 && w.awaited[uid] == a {
		delete(w.awaited, uid)
	}
	return w.pending[uid]
}

// arrive ends all waits for a pod, unless claims of it are missing. The caller has taken the pod in.
func (w *waiting) arrive(uid types.UID) {
	if pod := w.pending[uid]; pod != nil && pod.ClaimProblem == ClaimMissing {
		return
	}
	if a := w.awaited[uid]; a != nil {
		close(a.shown)
		delete(w.awaited, uid)
	}
}

// newcomers are the pods that wait for a scheduler, numbered in the order in which they came.
type newcomers struct {
	came    uint64                 // how many have
	untried map[types.UID]newcomer // about which their scheduler has yet to say something
	tried   map[types.UID]newcomer // which wait all the same
}

// newcomer is a pod that came to wait.
type newcomer struct {
	number        uint64 // from 1 on
	at            time.Time
	schedulerName string
}

func noNewcomers() newcomers {
	return newcomers{untried: map[types.UID]newcomer{}, tried: map[types.UID]newcomer{}}
}

// follow takes in what the watch shows of a pod that has no node; nil when it has one, or is gone.
func (n *newcomers) follow(uid types.UID, pod *Pod, now time.Time) {
	one, known := n.untried[uid]
	if !known {
		one, known = n.tried[uid]
	}
	if pod == nil || !waits(pod.Pod) {
		forget(&n.untried, uid)
		forget(&n.tried, uid)
		return
	}
	if !known {
		n.came++
		one = newcomer{n.came, now, pod.Spec.SchedulerName}
	}
	if pod.Tried() || pod.Status.NominatedNodeName != "" {
		forget(&n.untried, uid)
		n.tried[uid] = one
	} else if _, tried := n.tried[uid]; !tried {
		n.untried[uid] = one
	}
}

// forget takes a pod out of a map. It replaces an emptied map by a new one, because a map never shrinks.
func forget(from *map[types.UID]newcomer, uid types.UID) {
	if _, there := (*from)[uid]; !there {
		return
	}
	if delete(*from, uid); len(*from) == 0 {
		*from = map[types.UID]newcomer{}
	}
}

// Came returns how many pods have come to wait so far. See [Cluster.Untried].
func (c *Cluster) Came() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.newcomers.came
}

// Untried reports whether the scheduler of a name has yet to decide about one of the pods that came to wait up
// to a count: the watch shows the pod neither bound, refused, nominated nor gone. The scheduler may have chosen
// a node for such a pod, by the state that it knew then, without having said so. Pods that came before since do
// not count: perhaps no scheduler is there to try them.
func (c *Cluster) Untried(schedulerName string, first uint64, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.waiting.newcomers.untried {
		if pod.number <= first && pod.schedulerName == schedulerName && !pod.at.Before(since) {
			return true
		}
	}
	return false
}

// Waits reports whether one of the pods that came to wait up to a count still waits, for any scheduler. If none
// does, the watch has shown the fate of each, and no scheduler can still place one of them by the state known
// at that count.
func (c *Cluster) Waits(first uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pods := range []map[types.UID]newcomer{c.waiting.newcomers.untried, c.waiting.newcomers.tried} {
		for _, pod := range pods {
			if pod.number <= first {
				return true
			}
		}
	}
	return false
}
