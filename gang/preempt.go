package gang

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/status"
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

// Preempt decides about a pod for which the scheduler would evict others. It says false for
// one that is of no gang, or of one that has started: others may be evicted for it alone.
//
// The first call about a member finds victims for the whole gang, or none. When there are
// any, all members count on their places at once. Each call is answered with the place of the
// member that it is about, and the victims there, whichever member they have to go for: the
// scheduler evicts pods of one node at a time.
//
// Until all victims are gone, Filter refuses the members. So no call is held for victims that
// take their time.
func (m *Manager) Preempt(pod *cluster.Pod) (answer Preemption, starting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.asked(pod)
	if g == nil {
		return Preemption{}, false
	}
	p := g.members[pod.UID]
	parts, reason := m.bundle(g)
	switch {
	case reason != "":
		return Preemption{}, true
	case startedAll(parts):
		return Preemption{}, false
	case p.stage == pending && m.plan(parts, p) != "":
		m.makeRoom(parts, p)
	}
	if p.stage == placed && m.awaiting(parts, p) {
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

// clearing is what a group waits for that has places where others are still.
type clearing struct {
	victims map[string][]victim // by place
	until   time.Time           // the group waits
	seen    uint64              // the generation of the cluster of which that holds
}

// victim is a pod that has to go, as the watch last showed it.
type victim struct {
	pod      *cluster.Pod
	violates bool // a disruption budget
}

func (v victim) is(pod *cluster.Pod) bool { return pod.UID == v.pod.UID }

// makeRoom looks for pods to evict, so that as many members of each part as must start
// together have a place, and has them count there. If there are none, nothing changes.
// minResources are not asked about: what others leave is free, and this plan knows better.
func (m *Manager) makeRoom(parts []part, asking *member) {
	g := parts[0].group
	for _, p := range parts {
		m.judgeBy(p.group)
	}
	generation := m.cluster.Snapshot().Generation
	if incomplete(parts) != "" || g.sought == generation || m.clock.Now().Before(g.soughtAgain) {
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
			if policy := candidate.pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
				return nil, errNoVictims
			}
			members, pods = append(members, candidate), append(pods, candidate.pod)
		}
	}
	m.seed++
	started := m.clock.Now()
	plan := placement.New(parts[0].store, pods, m.seed)
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
	if !ok {
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

// clear has the parts wait for victims to go from the places of their members.
func (m *Manager) clear(parts []part, victims map[string][]victim) {
	now, count, patience := m.clock.Now(), 0, time.Duration(0)
	for _, of := range victims {
		count += len(of)
		for _, v := range of {
			patience = max(patience, graceOf(v.pod, now))
		}
	}
	if count == 0 {
		return
	}
	m.metrics.preemptions.Inc()
	m.metrics.victims.Add(float64(count))
	for _, p := range parts {
		if p.clearing == nil {
			p.clearing = &clearing{victims: map[string][]victim{}}
		}
		for _, member := range p.in(placed) {
			for _, v := range victims[member.place] {
				if !slices.ContainsFunc(p.clearing.victims[member.place], func(known victim) bool { return known.is(v.pod) }) {
					p.clearing.victims[member.place] = append(p.clearing.victims[member.place], v)
				}
			}
		}
		if until := now.Add(patience + p.spec.timeout); until.After(p.clearing.until) {
			p.clearing.until = until
		}
		p.waits(status.Waiting, fmt.Sprintf("waiting for %d pods to be evicted for it", count))
	}
}

// graceOf is how long a pod may take to go.
func graceOf(pod *cluster.Pod, now time.Time) time.Duration {
	switch seconds := pod.Spec.TerminationGracePeriodSeconds; {
	case pod.DeletionTimestamp != nil:
		return max(pod.DeletionTimestamp.Sub(now), 0)
	case seconds != nil:
		return time.Duration(*seconds) * time.Second
	default:
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
}

// awaiting says that victims of a bundle are still there. Once all are gone, its time begins,
// and the scheduler is told, but of the member that it asks about.
func (m *Manager) awaiting(parts []part, asking *member) bool {
	waited, waits := false, false
	for _, p := range parts {
		if p.clearing != nil {
			waited = true
			waits = m.follow(p.group) || waits
		}
	}
	if waits || !waited {
		return waits
	}
	for _, p := range parts {
		if p.clearing == nil {
			continue
		}
		p.clearing, p.planned = nil, m.clock.Now()
		p.waits("", "")
		for _, member := range p.in(placed) {
			if member != asking {
				m.steer(member, m.worthNominating(member, m.cluster.Snapshot()))
			}
		}
	}
	return false
}

// follow forgets the victims of a group that are gone, or that no member waits for any more. It
// says whether there are others.
func (m *Manager) follow(g *group) bool {
	snap, left := m.cluster.Snapshot(), map[string][]victim{}
	if g.clearing.seen == snap.Generation {
		return len(g.clearing.victims) > 0
	}
	for _, p := range g.members {
		node := snap.NodeByName(p.place)
		if p.stage != placed || node == nil || left[p.place] != nil {
			continue
		}
		for _, v := range g.clearing.victims[p.place] {
			if at := slices.IndexFunc(node.Pods, v.is); at >= 0 {
				left[p.place] = append(left[p.place], victim{node.Pods[at], v.violates})
			}
		}
	}
	g.clearing.victims, g.clearing.seen = left, snap.Generation
	return len(left) > 0
}
