package gang

import (
	"errors"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
)

// Preemption is who is to be evicted for a member of a gang.
type Preemption struct {
	// Node is the place of the member.
	Node string
	// Victims are the pods there that have to go and are not going yet, the most important
	// first.
	Victims []*cluster.Pod
	// Violations is how many of them a disruption budget protects.
	Violations int
}

// Preempt decides about a pod, as the watch shows it, for which the scheduler would evict others. It
// says false for one that is of no gang, or of one that has started: others may be evicted for it alone.
//
// The first call about a member finds victims for the whole gang, or none. When there are
// any, all members count on their places at once. Each call is answered with the place of the
// member that it is about, and the victims there, whichever member they have to go for: the
// scheduler evicts pods of one node at a time. Those of members that it does not ask about are
// evicted all the same, a little later.
//
// When members are lost meanwhile, nobody is evicted until others have come in their place.
//
// When a place is found without victims, or they are gone, there is no answer that says so: a member
// that filter has refused is woken then. Another one did not fit by what the scheduler knows, and is
// tried when that changes.
//
// Until all victims are gone, Filter refuses the members. So no call is held for victims that
// take their time.
func (m *Manager) Preempt(pod *cluster.Pod) (answer Preemption, starting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.groupOf[pod.UID]
	if g == nil {
		_, member := membership.Of(pod.Pod)
		return Preemption{}, member // if so, nobody has told of it
	}
	p := g.members[pod.UID]
	parts, reason := m.bundle(g)
	switch {
	case reason != "":
		return Preemption{}, true
	case startedAll(parts):
		return Preemption{}, false
	}
	placing := p.stage == pending
	if placing && m.plan(parts, p) != "" {
		m.makeRoom(parts, p)
	}
	switch {
	case p.stage != placed:
	case !m.awaiting(parts, nil): // no answer says that it has a place
		if placing {
			m.steer(p, m.worthNominating(p, m.cluster.Snapshot()))
		}
	case !anyMissing(parts):
		answer = m.toEvict(parts, p.place)
	}
	return answer, true
}

// toEvict are the victims on a node that are not going yet.
func (m *Manager) toEvict(parts []part, place string) Preemption {
	answer := Preemption{Node: place}
	for _, p := range parts {
		if p.clearing == nil {
			continue
		}
		for _, victim := range p.clearing.victims[place] {
			if victim.pod.DeletionTimestamp != nil || slices.ContainsFunc(answer.Victims, victim.is) {
				continue
			}
			answer.Victims = append(answer.Victims, victim.pod)
			if victim.violates {
				answer.Violations++
			}
		}
	}
	return answer
}

// makeRoom looks for pods to evict, so that as many members of each part as must start
// together have a place, and has them count there. If there are none, nothing changes.
// minResources are asked about only if nobody has to go: else what others leave is free, and this
// plan knows better.
func (m *Manager) makeRoom(parts []part, asking *member) {
	g := parts[0].group
	for _, p := range parts {
		m.judgeBy(p.group)
	}
	generation := m.cluster.Snapshot().Generation
	if m.rests(g) || m.hindered(parts) != "" || g.sought == generation || m.clock.Now().Before(g.soughtAgain) {
		return
	}
	anew := unplanned(parts)
	for range attempts {
		started := m.clock.Now()
		victims, err := m.tryEvictions(parts, asking)
		switch {
		case errors.Is(err, cluster.ErrNodeChanged):
			continue
		case err != nil:
			g.sought = generation
			g.soughtAgain = m.clock.Now().Add(max(m.limits.Retry, 10*m.clock.Since(started)))
			return
		}
		for _, p := range anew {
			p.planned = m.clock.Now()
		}
		m.clear(parts, victims)
		return
	}
}

var errNoVictims = errors.New("gang: no evictions make room for as many members as must start together")

// tryEvictions looks for victims on one snapshot and has the members count on their places.
func (m *Manager) tryEvictions(parts []part, asking *member) (map[string][]victim, error) {
	terms := m.termsFor(parts)
	var members []*member
	var pods []*cluster.Pod
	for _, p := range parts {
		for _, candidate := range candidatesOf(p, asking) {
			if neverPreempts(candidate) {
				return nil, errNoVictims
			}
			members, pods = append(members, candidate), append(pods, candidate.pod)
		}
	}
	m.seed++
	started := m.clock.Now()
	plan := m.newPlan(parts[0].store, pods)
	defer plan.Close()
	defer func() { m.metrics.planning.Observe(m.clock.Since(started).Seconds()) }()
	evictions := placement.NewEvictions(plan, terms.may)
	var places []placement.Place
	for _, p := range parts {
		var pods []*cluster.Pod
		for _, candidate := range candidatesOf(p, asking) {
			pods = append(pods, candidate.pod)
		}
		outcome := evictions.PlaceAll(pods, p.missing(), started.Add(m.limits.PlanTime))
		if !outcome.Kept {
			return nil, errNoVictims
		}
		places = append(places, outcome.Places...)
	}
	found, ok := evictions.Victims()
	if !ok || len(found) == 0 && slices.ContainsFunc(parts, func(p part) bool { return m.lacking(p) != "" }) {
		return nil, errNoVictims
	}
	victims := map[string][]victim{}
	for _, v := range found {
		name := plan.Node(v.Node).Name
		victims[name] = append(victims[name], victim{v.Pod, v.Violates})
	}
	return victims, m.assume(plan.Snapshot(), members, places, asking)
}

// candidatesOf are the members of a part that need a place, the one that the scheduler asks
// about first: an eviction for it happens at once.
func candidatesOf(p part, asking *member) []*member {
	candidates := readyOf(p.in(pending))
	if at := slices.Index(candidates, asking); at > 0 {
		copy(candidates[1:at+1], candidates[:at])
		candidates[0] = asking
	}
	return candidates
}
