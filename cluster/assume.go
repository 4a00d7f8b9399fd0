package cluster

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

var (
	// ErrNodeChanged says that a node is no longer in the state on which a
	// decision was made: decide again on a new snapshot. [Cluster.AssumeAsJudged] says so of the
	// pod as well: decide about it as [Cluster.PendingPod] has it.
	ErrNodeChanged = errors.New("the node changed since the decision")
	// ErrPodPlaced says that the watch has shown the pod on a node already, or that it is being
	// bound to another one.
	ErrPodPlaced = errors.New("the pod is on a node already")
)

// Ends of an assumption.
const (
	outcomeConfirmed = "confirmed" // the watch shows the pod on that node
	outcomeRefuted   = "refuted"   // the watch shows it elsewhere, finished or gone
	outcomeReleased  = "released"  // muster took it back
	outcomeExpired   = "expired"   // the watch said nothing in time
)

// assumption is a pod that counts on a node before the watch has shown it there.
type assumption struct {
	node string
	// expires is when it ends, unless the pod is nominated to the node then.
	expires time.Time
	timer   clock.Timer
	// mayBind is until when the API server, which was asked to, may bind the pod there.
	mayBind time.Time
}

func (a *assumption) binding(now time.Time) bool { return a != nil && now.Before(a.mayBind) }

// Basis describes the state that a pod was judged on.
type Basis struct {
	// Node is the state of the node that the pod fits.
	Node *Node
	// Generation of the snapshot in which the pod was judged.
	Generation uint64
	// Aspects lists what the verdict depended on besides Node: aspects of other nodes and of the cluster as a whole.
	Aspects Aspect
}

// AssumeAsJudged is AssumeAll for a pod whose verdict may depend on other nodes as well: it returns ErrNodeChanged
// also when an aspect that was read of any node or object has changed since, or the watch has shown another state
// of the pod. So no two pods whose verdicts exclude each other both count, whatever their nodes.
func (c *Cluster) AssumeAsJudged(pod *Pod, on Basis) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.assumeAsJudged(pod, on)
}

func (w *waiting) assumeAsJudged(pod *Pod, on Basis) error {
	if now := w.pending[pod.UID]; now != nil && now != pod && podChanges(pod, now) != 0 {
		return ErrNodeChanged
	}
	return w.ledger.assumeAsJudged(pod, on)
}

func (l *ledger) assumeAsJudged(pod *Pod, on Basis) error {
	if on.Aspects != 0 && l.changedSince(on.Generation, on.Aspects) {
		return ErrNodeChanged
	}
	return l.assumeAll([]*Pod{pod}, on.Node)
}

// AssumeAll makes pods count on a node from now on, provided that the node is still in the state given: else it returns
// ErrNodeChanged, so that of two decisions made on one state only one succeeds. It returns ErrPodPlaced when a pod is
// known to be bound, or being bound elsewhere. Either all pods count there afterwards, or nothing has changed. An earlier
// assumption about a pod ends.
func (c *Cluster) AssumeAll(pods []*Pod, on *Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.assumeAll(pods, on)
}

// AssumeAgain makes a pod count on the node of a name, in whatever state that is: a former process had it count there. It
// reports false when there is no such node, or the pod is known to be bound, or being bound elsewhere.
func (c *Cluster) AssumeAgain(pod *Pod, node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	index, known := c.ledger.index[node]
	return known && c.ledger.assumeAll([]*Pod{pod}, c.ledger.nodes.at(index)) == nil
}

func (l *ledger) assumeAll(pods []*Pod, on *Node) error {
	now := l.clock.Now()
	for _, pod := range pods {
		a, assumed := l.assumed[pod.UID]
		if _, placed := l.placed[pod.UID]; placed && !assumed || a.binding(now) && a.node != on.Name {
			return ErrPodPlaced
		}
	}
	if l.nodes.at(on.Index) != on {
		return ErrNodeChanged
	}
	for _, pod := range pods {
		a := &assumption{node: on.Name, expires: now.Add(l.term)}
		if before := l.assumed[pod.UID]; before.binding(now) {
			a.mayBind = before.mayBind
		}
		l.unassume(pod.UID, outcomeReleased)
		l.put(pod, on.Name, decided)
		l.assumed[pod.UID] = a
		a.timer = l.clock.AfterFunc(l.term, func() { l.expire(pod, a) })
	}
	return nil
}

// Assumed returns the node on which a pod is assumed, "" when it is not.
func (c *Cluster) Assumed(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.ledger.assumed[uid]; a != nil {
		return a.node
	}
	return ""
}

// Renew lets an assumption live for another full term from now: the pod was
// bound, and the watch is about to say so. It says false when there is none.
func (c *Cluster) Renew(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.ledger.assumed[uid]
	if a == nil {
		return false
	}
	c.ledger.renew(a, c.ledger.term)
	return true
}

func (l *ledger) renew(a *assumption, term time.Duration) {
	a.expires = l.clock.Now().Add(term)
	a.timer.Reset(term)
}

// Bind notes that the API server, which is asked to, may bind a pod to the node on which it is
// assumed, for a while from now. As answers get lost, and requests are repeated after their
// caller has gone, the pod counts there until the watch shows what became of it,
// [Cluster.Refuse] says that it is not bound, or the while is over: it can be neither
// released nor assumed elsewhere. Then the assumption ends, unless it was renewed. Nothing is
// noted of a pod that is not assumed on that node.
func (c *Cluster) Bind(uid types.UID, node string, while time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.ledger.assumed[uid]; a != nil && a.node == node {
		c.ledger.renew(a, while)
		a.mayBind = a.expires
	}
}

// Binding returns the node to which a pod may be bound any moment, by Bind; "" for none.
func (c *Cluster) Binding(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.ledger.assumed[uid]; a.binding(c.ledger.clock.Now()) {
		return a.node
	}
	return ""
}

// Refuse ends an assumption as Release does, also when the pod was to be bound: the API
// server has said that it is not.
func (c *Cluster) Refuse(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.release(uid)
}

// Release ends an assumption: the pod no longer counts on the node, and is expected on
// none. It does nothing to any other pod, and none to one that may be bound any moment.
func (c *Cluster) Release(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ledger.assumed[uid].binding(c.ledger.clock.Now()) {
		c.ledger.release(uid)
	}
}

func (l *ledger) release(uid types.UID) {
	l.unexpect(uid, "")
	if _, ok := l.assumed[uid]; ok {
		l.unassume(uid, outcomeReleased)
		l.take(uid)
	}
}

// keeps reports whether kube-scheduler is still about to bind a pod where it is assumed, as far as the API server
// shows: it nominates the pod there before it waits for volumes or devices, however long that takes, and takes that
// back when the attempt fails (bindingCycle and handleBindingCycleError in pkg/scheduler/schedule_one.go).
// Once the API server was asked to bind the pod, its answer decides.
func (a *assumption) keeps(pod *Pod) bool {
	return a.mayBind.IsZero() && pod.Status.NominatedNodeName == a.node
}

// shownPending takes in what the watch shows of a pod without a node. If it is not nominated any more to the
// node where it is assumed, the attempt has come to nothing: a term begins.
func (l *ledger) shownPending(pod *Pod, a *assumption) {
	kept := a.keeps(l.placed[pod.UID].pod)
	l.put(pod, a.node, shown)
	if kept && !a.keeps(pod) {
		l.renew(a, l.term)
	}
}

func (l *ledger) expire(pod *Pod, a *assumption) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.assumed[pod.UID] != a || l.clock.Now().Before(a.expires) || a.keeps(l.placed[pod.UID].pod) {
		return // settled or renewed just when the timer fired, or it ends when the nomination does
	}
	l.unassume(pod.UID, outcomeExpired)
	l.take(pod.UID)
	l.log.Warn("assumed pod expired", slog.String("pod", pod.Namespace+"/"+pod.Name), slog.String("node", a.node))
}

// unassume takes a pod off the list of assumed ones, wherever it counts.
func (l *ledger) unassume(uid types.UID, outcome string) {
	a := l.assumed[uid]
	if a == nil {
		return
	}
	a.timer.Stop()
	delete(l.assumed, uid)
	l.outcomes.WithLabelValues(outcome).Inc()
}

// Reserve makes a placeholder count on a node, until Unreserve or Exchange: a pod that does not exist, and
// keeps room for one that is to come. Its UID must be that of no other pod. Readers of the view take it for an
// assumed pod that does not expire and must not be evicted. A placeholder that counts already moves.
func (c *Cluster) Reserve(pod *Pod, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserve(pod, node)
}

// ReserveAll is Reserve for several placeholders on a node, provided that it is still in the state given: else it returns
// ErrNodeChanged, and nothing has changed.
func (c *Cluster) ReserveAll(pods []*Pod, on *Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ledger.nodes.at(on.Index) != on {
		return ErrNodeChanged
	}
	for _, pod := range pods {
		c.reserve(pod, on.Name)
	}
	return nil
}

func (c *Cluster) reserve(pod *Pod, node string) {
	placeholder := *pod
	placeholder.Placeholder = true
	c.claims.foresee(&placeholder)
	c.ledger.put(&placeholder, node, decided)
}

// Foreseen returns a pod that the API server has not got, with the ResourceClaims that would be made for it.
func (c *Cluster) Foreseen(pod *Pod) *Pod {
	if len(pod.Spec.ResourceClaims) == 0 {
		return pod
	}
	next := *pod
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims.foresee(&next)
	return &next
}

// Unreserve ends what Reserve began. It does nothing to a pod that is no placeholder.
func (c *Cluster) Unreserve(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, placed := c.ledger.placed[uid]; placed && at.pod.Placeholder {
		c.ledger.take(uid)
	}
}

// Exchange is AssumeAsJudged for the pod that a placeholder stands for. The placeholder goes at the same moment: no
// third pod comes in between.
func (c *Cluster) Exchange(placeholder types.UID, pod *Pod, on Basis) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.waiting.assumeAsJudged(pod, on); err != nil {
		return err
	}
	if at, placed := c.ledger.placed[placeholder]; placed && at.pod.Placeholder {
		c.ledger.take(placeholder)
	}
	return nil
}

// PlaceOf returns the node on which a pod counts, "" when it is on none.
func (c *Cluster) PlaceOf(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.placed[uid].node
}

// IsPlaceholderPod reports whether a pod is there for kube-scheduler only, to keep room that the view knows of by
// Reserve. It never runs, and the view leaves it out.
func IsPlaceholderPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == v1alpha1.PlaceholderGate })
}
