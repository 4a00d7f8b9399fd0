package gang

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// Verbs answers what the verbs of an extender ask about gangs.
type Verbs struct {
	machine    *machine
	refusals   *prometheus.CounterVec // by reason
	completion completion

	// These are overwritten under the lock, so that applying them allocates nothing.
	asked  core.Asked
	placed core.Placed
	binds  core.Binds
	bound  core.Bound
}

// Filter decides about a pod, as the watch shows it, that the scheduler asks about for a number of nodes.
func (v *Verbs) Filter(pod *cluster.Pod, nodes int) core.Decision {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.receive()
	v.completion.before(podPriority(pod), pod.UID)
	if !v.machine.state.Knows(pod.UID) {
		if _, member := membership.Of(pod); member { // nobody has told of it
			return core.Decision{Reason: core.ReasonUnknown}
		}
		return core.Decision{}
	}
	v.asked = core.Asked{Pod: pod, Nodes: nodes}
	decision := v.machine.apply(&v.asked).decision
	if decision.Reason != "" {
		v.refusals.WithLabelValues(decision.Reason).Inc()
	}
	return decision
}

func podPriority(pod *cluster.Pod) int32 { return corev1helpers.PodPriority(pod.Pod) }

// Complete has what is missing of gangs that run with too few members planned before pods of a priority, or of a lower one,
// are placed: their room may be there now, and nobody has looked.
func (v *Verbs) Complete(priority int32) {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.receive()
	v.completion.before(priority, "")
}

// completion plans what is missing of gangs that run with too few members.
type completion struct {
	machine *machine
	// inVain is the time that failed plans took for the sake of others, less a tenth of the time since. It was told at a time.
	inVain time.Duration
	at     time.Time
}

// mostInVain bounds the time of failed plans in one go. A node that is opened while there is none left may go to others.
const mostInVain = 100 * time.Millisecond

// before plans it before pods of a priority, or of a lower one, are placed: for a pod that is placed by itself, unless the UID
// is "". Plans that fail take a tenth of the time at most in the long run. The caller holds the lock.
func (c *completion) before(priority int32, pod types.UID) {
	started := c.machine.clock.Now()
	c.inVain, c.at = max(0, c.inVain-started.Sub(c.at)/10), started
	if c.inVain > mostInVain {
		return
	}
	inVain := false
	c.machine.apply(core.LookedAtPartly{})
	for _, group := range c.machine.state.Lost(priority, c.machine.view.Generation(), pod) {
		inVain = c.machine.apply(core.PlannedAhead{Group: group}).decision.Reason != "" || inVain
	}
	if inVain {
		c.inVain += c.machine.clock.Since(started)
	}
}

// Placed says that filter was answered with a node on which the pod counts now.
func (v *Verbs) Placed(uid types.UID, node string) {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.placed = core.Placed{UID: uid, Node: node}
	v.machine.apply(&v.placed)
}

// Refused says that the scheduler was told of no node for a pod, and whether it missed the pod's place: see [core.Refused].
func (v *Verbs) Refused(pod *cluster.Pod, missed bool) {
	v.machine.do(core.Refused{UID: pod.UID, Missed: missed})
}

// Preempt decides about a pod, as the watch shows it, that the scheduler would evict others for. It reports
// false for a pod of no gang, or of a gang that has started: for such a pod alone others may be evicted. Until
// all victims are gone, Filter refuses the members. So no call is held for victims that take their time.
func (v *Verbs) Preempt(pod *cluster.Pod) (answer core.Preemption, starting bool) {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.receive()
	if !v.machine.state.Knows(pod.UID) {
		_, member := membership.Of(pod)
		return core.Preemption{}, member // if so, nobody has told of it
	}
	preempted := v.machine.apply(core.Preempts{UID: pod.UID}).preempted
	return preempted.Preemption, !preempted.Alone
}

// GiveWay makes room for a pod that fits no node, if plans of gangs of lower priority are in the way. It
// reports whether it did. A gang keeps its places if members are bound, or may have been let go to be.
func (v *Verbs) GiveWay(pod *cluster.Pod, store *predicates.VerdictStore) bool {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.receive()
	above := podPriority(pod)
	pods, on := v.machine.state.Lower(above)
	if len(pods) == 0 || store == nil {
		return false
	}
	nodes := v.machine.ports.nodesWithout(store, []*cluster.Pod{pod}, pods, on, func(plan *placement.Plan) []int32 {
		return []int32{plan.Place(pod)}
	})
	return v.machine.apply(core.Outranked{By: pod.Namespace + "/" + pod.Name, Priority: above, Nodes: nodes}).denied
}

// Harms says for each node what the evictions on it would do, for a pod of no gang, if no other node had
// evictions: by the rules of evictions for gangs. The eviction of a pod that goes in any case does no harm.
func (v *Verbs) Harms(victims map[string][]types.UID) map[string]core.Harm {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.look()
	return v.machine.state.Harms(v.machine.clock.Now(), victims)
}

// Planned reports whether a pod counts on its node only since it was planned there: the scheduler
// has not bound it yet, and is not about to.
func (v *Verbs) Planned(uid types.UID) bool {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	return v.machine.state.Planned(uid)
}

// PlacesAlone reports whether a pod is placed for itself: it is of no gang, or of one that has started
// and has no place for it.
func (v *Verbs) PlacesAlone(uid types.UID) bool {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.receive()
	v.machine.apply(core.LookedAt{UID: uid})
	return v.machine.state.PlacesAlone(uid)
}

// Permit waits until a pod may be bound to a node: at once, if it is of no gang or of one that has started,
// else until enough members to start together have come or are bound. The pod must count on the node already.
// An error says that the pod must not be bound, and that it does not count there on behalf of its gang any
// more. If the call alone has taken the longest time allowed ([core.ErrKept]), or ctx has ended, the pod keeps
// its place.
//
// After a nil error the caller binds the pod and reports the result with Bound.
func (v *Verbs) Permit(ctx context.Context, uid types.UID, node string) error {
	h, err := v.hold(uid, node)
	if h == nil {
		return err
	}
	select {
	case <-h.done:
		return h.err
	case <-ctx.Done():
		return v.drop(uid, h, ctx.Err())
	}
}

// Bound reports the result of binding a pod that was permitted.
func (v *Verbs) Bound(uid types.UID, err error) {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.bound = core.Bound{UID: uid, Err: err}
	v.machine.apply(&v.bound)
}

// hold takes in a bind call. There is nothing to wait for when it returns nil.
func (v *Verbs) hold(uid types.UID, node string) (*hold, error) {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	v.machine.receive()
	v.binds = core.Binds{UID: uid, Node: node}
	o := v.machine.apply(&v.binds)
	return o.hold, o.err
}

// drop ends a held call that nobody waits for any more.
func (v *Verbs) drop(uid types.UID, h *hold, why error) error {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
	if h.ended {
		return h.err
	}
	v.machine.apply(core.HungUp{UID: uid, Hold: h.id, Err: why})
	return why
}

// hold is a bind call that waits for quorum.
type hold struct {
	id    core.HoldID
	done  chan struct{}
	ended bool
	err   error // once done is closed; nil lets the call go on
}

// holds are the bind calls that wait.
type holds struct {
	waiting map[core.HoldID]*hold
	took    prometheus.Observer
}

// begin has a bind call wait, or wait as well.
func (s *holds) begin(id core.HoldID) *hold {
	if s.waiting[id] == nil {
		s.waiting[id] = &hold{id: id, done: make(chan struct{})}
	}
	return s.waiting[id]
}

// end has the calls of a hold go on, or fail.
func (s *holds) end(e core.EndHold) {
	h := s.waiting[e.Hold]
	delete(s.waiting, e.Hold)
	s.took.Observe(e.Held.Seconds())
	h.ended, h.err = true, e.Err
	close(h.done)
}

// Pass returns once the lock was free, and does nothing else. A canary calls it.
func (v *Verbs) Pass() {
	v.machine.mu.Lock()
	defer v.machine.mu.Unlock()
}
