package gang

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// plan finds places for the members of a group that have none, so that as many as must
// start together have one or are bound. It returns the reason why not. The scheduler is
// told of all but the member that it asks about, nil for none.
func (m *Manager) plan(g *group, spec *spec, asking *member) (reason string) {
	if g.store == nil {
		g.why = "no profile of muster has the scheduler name of its members"
		return ReasonNoPlace
	}
	c := g.counts()
	missing := spec.minMember - c.assigned() - c[placed] - c[held]
	candidates := readyOf(g.in(pending))
	if len(candidates) < missing {
		g.why = fmt.Sprintf("waiting for %d more of %d members to be created", missing-len(candidates), spec.minMember)
		return ReasonSiblings
	}
	now := m.cluster.Snapshot().Generation
	if g.looked == now || asking != nil && m.denied.has(g.key) {
		return ReasonNoPlace // as before
	}
	if why := m.lacking(g, spec); why != "" {
		m.noPlace(g, why, now)
		return ReasonNoPlace
	}
	for range attempts {
		why, err := m.tryPlan(g, candidates, missing, asking)
		switch {
		case errors.Is(err, cluster.ErrNodeChanged):
			continue
		case why != "":
			m.noPlace(g, why, now)
			return ReasonNoPlace
		}
		g.planned = m.clock.Now()
		return ""
	}
	g.why = "the nodes change faster than places can be planned"
	return ReasonNoPlace
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
func (m *Manager) tryPlan(g *group, candidates []*member, atLeast int, asking *member) (why string, err error) {
	pods := make([]*cluster.Pod, len(candidates))
	for i, p := range candidates {
		pods[i] = p.pod
	}
	m.seed++
	started := m.clock.Now()
	plan := placement.New(g.store, pods, m.seed)
	defer plan.Close()
	outcome := plan.PlaceAll(pods, atLeast, started.Add(m.limits.PlanTime))
	g.took = m.clock.Since(started)
	m.metrics.planning.Observe(g.took.Seconds())
	if !outcome.Kept {
		return shortfall(outcome, atLeast, plan.Snapshot().NodeCount()), nil
	}
	return "", m.assume(plan.Snapshot(), candidates, outcome.Places, asking)
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
	for _, index := range order {
		for _, p := range on[index] {
			m.enter(p, placed)
			p.place = snap.Node(index).Name
			if p != asking {
				m.steer(p)
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

// noPlace follows a plan that failed on a generation of the cluster. The next one, ahead of
// the scheduler, is made when the cluster has changed, but planning never takes more than a
// small part of the time.
func (m *Manager) noPlace(g *group, why string, generation uint64) {
	m.deny(g, why, errRefused)
	g.looked, g.again = generation, m.clock.Now().Add(max(m.limits.Retry, 10*g.took))
}

// deny gives a group's plan up: held calls end with an error, and for a while the group is
// not planned again.
func (m *Manager) deny(g *group, why string, err error) {
	for _, p := range g.members {
		m.giveUp(p, err)
	}
	now := m.clock.Now()
	g.why, g.failed, g.planned, g.again = why, now, time.Time{}, now.Add(m.limits.DenyTTL)
	m.denied.add(g.key)
	m.metrics.denials.Inc()
}

// planAhead plans the groups that are complete before the scheduler asks about them, and
// those that were denied when there is a place for them now.
func (m *Manager) planAhead() {
	m.mu.Lock()
	m.receive()
	groups := m.inOrder()
	m.mu.Unlock()
	for _, g := range groups {
		m.planOneAhead(g) // filter calls may come between
	}
}

func (m *Manager) planOneAhead(g *group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups[g.key] != g || m.clock.Now().Before(g.again) {
		return
	}
	spec, reason := m.spec(g)
	if c := g.counts(); reason == "" && c.assigned()+c[placed]+c[held] < spec.minMember {
		m.plan(g, spec, nil)
	}
}
