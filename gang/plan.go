package gang

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// plan finds places for the members of a bundle that have none, so that as many of each part
// as must start together have one or count already. It returns the reason why not. The
// scheduler is told of all but the member that it asks about, nil for none.
func (m *Manager) plan(parts []part, asking *member) (reason string) {
	g := parts[0].group
	if m.rests(g) || asking != nil && m.denied.has(g.key) && parts[0].missing() <= g.counts[pending] {
		return ReasonNoPlace // as before
	}
	for _, p := range parts {
		m.judgeBy(p.group)
	}
	if m.awaiting(parts, asking) {
		return ReasonVictims
	}
	m.recall(parts)
	if reason := m.hindered(parts); reason != "" {
		return reason
	}
	now := m.cluster.Snapshot().Generation
	if g.looked == now {
		return ReasonNoPlace // as before
	}
	anew := unplanned(parts)
	why, err := m.findPlaces(parts, asking)
	switch {
	case err != nil:
		g.waits(status.Waiting, "the nodes change faster than places can be planned")
		return ReasonNoPlace
	case why != "" && len(anew) < len(parts) && bearable(parts):
		g.waits(status.Waiting, why+"; the others keep their places until the time is up")
		lookedAt(parts, now)
		return ReasonNoPlace
	case why != "":
		m.deny(g, status.Unschedulable, why, errRefused)
		lookedAt(parts, now)
		return ReasonNoPlace
	}
	for _, p := range anew {
		p.planned = m.clock.Now()
	}
	return ""
}

// findPlaces is tryPlan, anew when a node has changed meanwhile, and when plans of lower priority
// have given way.
func (m *Manager) findPlaces(parts []part, asking *member) (why string, err error) {
	gaveWay := false
	for range attempts {
		why, err = m.tryPlan(parts, asking)
		switch {
		case errors.Is(err, cluster.ErrNodeChanged):
		case why != "" && !gaveWay && m.giveWayTo(parts):
			gaveWay = true
		default:
			return why, err
		}
	}
	return why, err
}

// judgeBy has a group planned by the profile that is in force for it. What was found by
// another one does not hold any more.
func (m *Manager) judgeBy(g *group) {
	if store := m.profiles.Of(g.schedulerName); store != g.store {
		g.store, g.looked = store, 0
	}
}

// unplanned are the parts whose time has not begun: no member has a place yet.
func unplanned(parts []part) []part {
	var anew []part
	for _, p := range parts {
		if c := p.counts; c[placed]+c[held] == 0 || p.planned.IsZero() {
			anew = append(anew, p)
		}
	}
	return anew
}

// incomplete is the reason why members of a bundle cannot be planned together.
func incomplete(parts []part) (reason string) {
	g := parts[0].group
	for _, p := range parts {
		switch ready := len(readyOf(p.in(pending))); {
		case len(p.members) > 0 && (p.store == nil || p.store != g.store):
			g.waits(status.Unschedulable, "no profile of muster has the scheduler name of all members")
			return ReasonNoPlace
		case ready < p.missing():
			why := fmt.Sprintf("waiting for %d more of %d members to be created", p.missing()-ready, p.spec.MinMember)
			if p.group != g {
				why += " in " + p.key.String()
			}
			g.waits(status.MembersMissing, why)
			return ReasonSiblings
		}
	}
	return ""
}

// hindered is the reason why a bundle is not planned now, whatever the nodes.
func (m *Manager) hindered(parts []part) (reason string) {
	if reason := incomplete(parts); reason != "" {
		return reason
	}
	return m.holdsEnough(parts)
}

// holdsEnough is the reason why none of a bundle may have places now, unless it has some: as many groups of
// its namespaces have as may.
func (m *Manager) holdsEnough(parts []part) (reason string) {
	if m.limits.MaxHolding == 0 {
		return ""
	}
	after := map[string]int{}
	for _, p := range parts {
		if !p.holds() && p.missing() > 0 {
			after[p.key.Namespace]++
		}
	}
	for namespace, more := range after {
		if m.holding[namespace]+more > m.limits.MaxHolding {
			parts[0].waits(
				status.Waiting,
				fmt.Sprintf("waiting for other gangs of namespace %s to start: %d have places, as many as may (gangs.maxHoldingPerNamespace)",
					namespace, m.holding[namespace]),
			)
			return ReasonHolding
		}
	}
	return ""
}

// attempts is how often a plan is made anew because a node changed meanwhile.
const attempts = 5

func readyOf(members []*member) []*member {
	var ready []*member
	for _, p := range members {
		if p.ready() {
			ready = append(ready, p)
		}
	}
	return ready
}

// tryPlan finds places on one snapshot and has the members count there. It says why there
// are none.
func (m *Manager) tryPlan(parts []part, asking *member) (why string, err error) {
	var members []*member
	var pods []*cluster.Pod
	for _, p := range parts {
		if why := m.lacking(p); why != "" {
			return why, nil
		}
		for _, candidate := range readyOf(p.in(pending)) {
			members, pods = append(members, candidate), append(pods, candidate.pod)
		}
	}
	m.seed++
	started := m.clock.Now()
	plan := m.newPlan(parts[0].store, pods)
	defer plan.Close()
	places, why := m.placeAll(plan, parts, started.Add(m.limits.PlanTime))
	m.metrics.planning.Observe(m.clock.Since(started).Seconds())
	if why != "" {
		return why, nil
	}
	return "", m.assume(plan.Snapshot(), members, places, asking)
}

// newPlan begins one for members. Room that plans of the rescheduler keep for them is theirs. A gang
// that these move as a whole returns to none of the nodes that its members leave, whichever of them
// left it.
func (m *Manager) newPlan(store *predicates.VerdictStore, pods []*cluster.Pod) *placement.Plan {
	plan := placement.New(store, pods, m.seed)
	if m.holes == nil {
		return plan
	}
	plan.Avoid(m.holes.Left(pods))
	if held := m.holes.Held(pods); held.Len() > 0 {
		for node := range plan.Snapshot().Nodes() {
			for _, pod := range node.Pods {
				if held.Has(pod.UID) {
					plan.Take(pod, node.Index)
				}
			}
		}
	}
	return plan
}

// placeAll finds places for the candidates of all parts, in their order.
func (m *Manager) placeAll(plan *placement.Plan, parts []part, deadline time.Time) (places []placement.Place, why string) {
	for _, p := range parts {
		var pods []*cluster.Pod
		for _, candidate := range readyOf(p.in(pending)) {
			pods = append(pods, candidate.pod)
		}
		outcome := plan.PlaceAll(pods, p.missing(), deadline)
		if !outcome.Kept {
			return nil, shortfall(outcome, p.missing(), plan.Snapshot().NodeCount())
		}
		places = append(places, outcome.Places...)
	}
	return places, ""
}

// assume has members count on their places, or none of them.
func (m *Manager) assume(snap *cluster.Snapshot, members []*member, places []placement.Place, asking *member) error {
	on := map[int32][]*member{}
	var order []int32
	for i, place := range places {
		if place.Node < 0 {
			continue
		}
		if on[place.Node] == nil {
			order = append(order, place.Node)
		}
		on[place.Node] = append(on[place.Node], members[i])
	}
	for i, index := range order {
		var pods []*cluster.Pod
		for _, p := range on[index] {
			pods = append(pods, p.pod)
		}
		if err := m.cluster.AssumeAll(pods, snap.Node(index)); err != nil {
			for _, before := range order[:i] {
				for _, p := range on[before] {
					m.cluster.Release(p.pod.UID)
				}
			}
			return err
		}
	}
	if m.holes != nil {
		m.holes.Refresh()
	}
	for _, index := range order {
		for _, p := range on[index] {
			m.enter(p, placed)
			p.place = snap.Node(index).Name
			if p != asking {
				m.steer(p, m.worthNominating(p, snap))
			}
		}
	}
	return nil
}

// shortfall says in words why too few members got a place.
func shortfall(outcome placement.Outcome, atLeast, nodes int) string {
	var against []string
	for _, place := range outcome.Places {
		if place.Node < 0 && len(place.Against) > 0 {
			for _, objection := range place.Against[:min(len(place.Against), 3)] {
				against = append(against, fmt.Sprintf("%d of %d nodes: %s", objection.Nodes, nodes, objection.Reason))
			}
			break
		}
	}
	why := fmt.Sprintf("places for %d of %d members", outcome.Placed, atLeast)
	if outcome.Late {
		why += ", when the time to look for them was up"
	}
	if len(against) > 0 {
		why += "; " + strings.Join(against, ", ")
	}
	return why
}

// lookedAt follows a plan that failed on a generation of the cluster. The next one, ahead of
// the scheduler, is made when the cluster has changed.
func lookedAt(parts []part, generation uint64) {
	for _, p := range parts {
		p.looked, p.again = generation, time.Time{}
	}
}

// deny gives up what is planned for a group and those that start with it: held calls end
// with an error, which is one that denials are counted by, and for a while none of them is planned
// again.
func (m *Manager) deny(g *group, reason status.Reason, why string, err error) {
	denied := []part{{group: g}}
	if parts, missing := m.bundle(g); missing == "" {
		denied = parts
	}
	now := m.clock.Now()
	if reason == status.TimedOut {
		why += m.timedOut(denied)
	}
	for _, d := range denied {
		for _, p := range d.members {
			m.giveUp(p, err)
		}
		d.failed, d.planned, d.again, d.clearing = now, time.Time{}, now.Add(m.limits.DenyTTL), nil
		d.recording, d.tries.asked = nil, false
		d.waits(reason, why)
		m.denied.add(d.key)
	}
	m.metrics.denials[err].Inc()
}

// planAhead plans the groups that are complete before the scheduler asks about them, and
// those that were denied when there is a place for them now. Plans that fail never take more
// than a small part of the time.
func (m *Manager) planAhead() {
	if m.clock.Now().Before(m.ahead.again) {
		return
	}
	m.ahead.passed = m.cluster.Snapshot().Generation
	m.mu.Lock()
	m.receive()
	groups := m.inOrder()
	m.mu.Unlock()
	var inVain time.Duration
	for _, g := range groups {
		inVain += m.planOneAhead(g) // filter calls may come between
	}
	m.ahead.again = m.clock.Now().Add(10 * inVain)
}

// planOneAhead says how long it took to find no place.
func (m *Manager) planOneAhead(g *group) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := m.clock.Now()
	if m.groups[g.key] != g || len(g.members) == 0 || started.Before(g.again) {
		return 0
	}
	parts, reason := m.bundle(g)
	switch {
	case reason != "":
	case startedAll(parts):
		m.wakeRefused(g)
	case anyMissing(parts) && m.plan(parts, nil) != "":
		return m.clock.Since(started)
	}
	return 0
}

// ahead is the pace of planning ahead. It belongs to Run.
type ahead struct {
	passed uint64    // the generation of the cluster when all groups were looked at last
	again  time.Time // when they may be looked at again
}
