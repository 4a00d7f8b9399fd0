package gang

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// Reasons for which all nodes are refused. They are constant: a changing one would have the
// scheduler try the pod again each time. Details are in [Manager.Report] and on the group.
const (
	ReasonUnknown  = "gang: the pod is not known yet"
	ReasonNoGroup  = "gang: its PodGroup does not exist"
	ReasonInvalid  = "gang: its PodGroup is not valid"
	ReasonSiblings = "gang: members are missing"
	ReasonNoPlace  = "gang: there is no place for as many members as must start together"
	ReasonNoRoom   = "gang: there is no place for another member"
	ReasonVictims  = "gang: pods are being evicted for it"
	ReasonHolding  = "gang: as many gangs of its namespace have places as may before they start"
)

// Decision says what filter is to answer about a pod.
type Decision struct {
	// Reason refuses all nodes, unless it is "".
	Reason string
	// Waits says that the pod is refused for now, and goes on counting on its place, if it has one.
	Waits bool
	// Member says that the pod is of a gang whose members have places: the caller is to
	// answer with one node, where the pod then counts, and to report it with Placed or
	// Refused. Until then the pod counts on its place, and is judged as if it did not.
	Member bool
	// Node is the place of the pod, "" when any will do.
	Node string
}

// Filter decides about a pod, as the watch shows it, for which the scheduler asks about so many nodes.
func (m *Manager) Filter(pod *cluster.Pod, nodes int) Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.groupOf[pod.UID]
	if g == nil {
		if _, member := membership.Of(pod.Pod); member { // nobody has told of it
			return Decision{Reason: ReasonUnknown}
		}
		return Decision{}
	}
	p := g.members[pod.UID]
	if p.knows = pod.Status.NominatedNodeName; p.knows == "" {
		m.looksAt = nodes
	}
	parts, reason := m.bundle(g)
	switch {
	case reason != "":
		m.giveUp(p, errNoGroup)
		return m.refuse(p, reason)
	case m.awaiting(parts, p):
		decision := m.refuse(p, ReasonVictims)
		decision.Waits = true
		return decision
	case p.stage != pending:
		return m.send(p)
	case startedAll(parts):
		p.refused = false
		return Decision{} // as room allows
	}
	switch reason := m.plan(parts, p); {
	case reason != "":
		return m.refuse(p, reason)
	case p.stage == pending:
		return m.refuse(p, ReasonNoRoom)
	}
	return m.send(p)
}

// send tells the scheduler of the place of a member.
func (m *Manager) send(p *member) Decision {
	m.groupOf[p.pod.UID].tries.asked = true
	return Decision{Member: true, Node: p.place}
}

func (m *Manager) refuse(p *member, reason string) Decision {
	p.refused = true
	m.metrics.refusals.WithLabelValues(reason).Inc()
	return Decision{Reason: reason}
}

// Placed says that filter was answered with a node on which the pod counts now.
func (m *Manager) Placed(uid types.UID, node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groupOf[uid]
	if g == nil {
		return
	}
	p := g.members[uid]
	p.refused, p.astray = false, false
	switch p.stage {
	case pending: // its plan has ended meanwhile: bind will say so
	case placed:
		m.enter(p, placed)
		p.place = node
	case held, binding: // the scheduler has given the call up, and it is about to end
		if p.hold != nil {
			p.hold.end(errAskedAgain)
		}
		m.enter(p, placed)
		p.place = node
	default:
	}
}

// Refused says that the scheduler was told of no node for a pod: its place is not among those
// that the scheduler asked about, or not good any more, and it fits none of the others.
//
// A scheduler that looks at a sample of a large cluster may not have come upon the place.
// Unless it knew of it, by nomination, another one is looked for on all nodes, and the pod is
// steered there.
//
// Else the plan ends, unless the others may wait for this one: see bearable.
func (m *Manager) Refused(pod *cluster.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groupOf[pod.UID]
	if g == nil {
		return
	}
	p := g.members[pod.UID]
	p.refused = true
	if p.stage == pending {
		return // its plan has ended meanwhile
	}
	knew := p.knows == p.place
	m.giveUp(p, errRefused)
	parts, reason := m.bundle(g)
	switch {
	case reason != "":
	case !knew:
		p.astray = true
		m.plan(parts, nil) // denies the group if there is none
	case !bearable(parts):
		m.deny(g, status.Unschedulable, "a member fits none of the nodes that the scheduler offers", errRefused)
	}
}
