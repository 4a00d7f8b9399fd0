package gang

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// Filter decides about a pod, as the watch shows it, that the scheduler asks about for a number of nodes.
func (m *Manager) Filter(pod *cluster.Pod, nodes int) core.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.complete(podPriority(pod), pod.UID)
	if !m.state.Knows(pod.UID) {
		if _, member := membership.Of(pod); member { // nobody has told of it
			return core.Decision{Reason: core.ReasonUnknown}
		}
		return core.Decision{}
	}
	m.asked = core.Asked{Pod: pod, Nodes: nodes}
	decision := m.apply(&m.asked).decision
	if decision.Reason != "" {
		m.metrics.refusals.WithLabelValues(decision.Reason).Inc()
	}
	return decision
}

// Complete has what is missing of gangs that run with too few members planned before pods of a priority, or of a lower one,
// are placed: their room may be there now, and nobody has looked.
func (m *Manager) Complete(priority int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.complete(priority, "")
}

// complete does that, for a pod that is placed by itself. Plans that fail never take more than a small part of the time.
func (m *machine) complete(priority int32, pod types.UID) {
	started := m.clock.Now()
	if started.Before(m.lost.again) {
		return
	}
	inVain := false
	for _, group := range m.state.Lost(priority, m.ports.Generation(), pod) {
		inVain = m.apply(core.PlannedAhead{Group: group}).decision.Reason != "" || inVain
	}
	if inVain {
		m.lost.again = m.clock.Now().Add(10 * m.clock.Since(started))
	}
}

// Placed says that filter was answered with a node on which the pod counts now.
func (m *Manager) Placed(uid types.UID, node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.placed = core.Placed{UID: uid, Node: node}
	m.apply(&m.placed)
}

// Refused says that the scheduler was told of no node for a pod: see [core.Refused].
func (m *Manager) Refused(pod *cluster.Pod) { m.do(core.Refused{UID: pod.UID}) }

// Preempt decides about a pod, as the watch shows it, that the scheduler would evict others for. It reports
// false for a pod of no gang, or of a gang that has started: for such a pod alone others may be evicted. Until
// all victims are gone, Filter refuses the members. So no call is held for victims that take their time.
func (m *Manager) Preempt(pod *cluster.Pod) (answer core.Preemption, starting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	if !m.state.Knows(pod.UID) {
		_, member := membership.Of(pod)
		return core.Preemption{}, member // if so, nobody has told of it
	}
	preempted := m.apply(core.Preempts{UID: pod.UID}).preempted
	return preempted.Preemption, !preempted.Alone
}

// GiveWay makes room for a pod that fits no node, if plans of gangs of lower priority are in the way. It
// reports whether it did. A gang keeps its places if members are bound, or may have been let go to be.
func (m *Manager) GiveWay(pod *cluster.Pod, store *predicates.VerdictStore) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	above := podPriority(pod)
	pods, on := m.state.Lower(above)
	if len(pods) == 0 || store == nil {
		return false
	}
	nodes := m.ports.nodesWithout(store, []*cluster.Pod{pod}, pods, on, func(plan *placement.Plan) []int32 {
		return []int32{plan.Place(pod)}
	})
	return m.apply(core.Outranked{By: pod.Namespace + "/" + pod.Name, Priority: above, Nodes: nodes}).denied
}

// Planned reports whether a pod counts on its node only since it was planned there: the scheduler
// has not bound it yet, and is not about to.
func (m *Manager) Planned(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Planned(uid)
}

// PlacesAlone reports whether a pod is placed for itself: it is of no gang, or of one that has started
// and has no place for it.
func (m *Manager) PlacesAlone(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.apply(core.LookedAt{UID: uid})
	return m.state.PlacesAlone(uid)
}

// Harms says for each node what the evictions on it would do, for a pod of no gang, if no other node had
// evictions: by the rules of evictions for gangs. The eviction of a pod that goes in any case does no harm.
func (m *Manager) Harms(victims map[string][]types.UID) map[string]core.Harm {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.apply(core.Looked{})
	return m.state.Harms(m.clock.Now(), victims)
}
