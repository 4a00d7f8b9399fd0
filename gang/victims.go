package gang

import (
	"errors"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
)

func (p *ports) FindVictims(s core.Search, terms *core.Terms) core.Evictions {
	p.seed++
	started := p.clock.Now()
	defer func() { p.took.Observe(p.clock.Since(started).Seconds()) }()
	pods := podsOf(s.Parts)
	plan := p.newPlan(s.Store, pods)
	defer plan.Close()
	evictions := placement.NewEvictions(plan, p.sparing(pods, terms.May))
	s.Parts, _ = hurried(plan, s.Parts, p.budget.deadline())
	places, not := evictAll(plan, evictions, s, p.budget.deadline())
	if not != nil {
		p.budget.short = p.budget.short || not.Late
		return *not
	}
	found, ok := evictions.Victims()
	if !ok || len(found) == 0 && p.lacking(s.Parts) != "" {
		return core.Evictions{}
	}
	planned, err := p.assume(plan.Snapshot(), places)
	switch {
	case errors.Is(err, cluster.ErrNodeChanged):
		return core.Evictions{Outcome: core.Outdated}
	case err != nil:
		return core.Evictions{Outcome: core.Overtaken}
	}
	victims := map[string][]core.Victim{}
	for _, v := range found {
		name := plan.Node(v.Node).Name
		victims[name] = append(victims[name], core.Victim{Pod: v.Pod, Violates: v.Violates})
	}
	return core.Evictions{Outcome: core.Found, Planned: planned, Nodes: plan.Snapshot().NodeCount(), Victims: victims}
}

// evictAll finds places for the members of all parts, and who has to go for that, or says why there are none. Some stay where their
// room is kept, unless the network has no room for the others beside them.
func evictAll(
	plan *placement.Plan, evictions *placement.Evictions, s core.Search, deadline time.Time,
) ([]placement.Place, *core.Evictions) {
	if unseen(s, plan.Snapshot()) != "" {
		return nil, &core.Evictions{}
	}
	s.Within = slices.DeleteFunc(slices.Clone(s.Within), func(c core.Common) bool {
		return !c.Topology.Binds() || isTorn(&c, plan.Snapshot())
	})
	if len(s.Within) > 0 {
		return evictTogether(plan, evictions, s, deadline)
	}
	places, left := settle(s.Parts, evictions.Stay, evictions.Await)
	if stays := len(places) > 0; !stays || !asksNetwork(s) {
		return evictFor(plan, evictions, places, left, deadline)
	}
	if !anyApart(left, plan.Snapshot()) {
		if found, not := evictFor(plan, evictions, places, left, deadline); not == nil || not.Late {
			return found, not
		}
	}
	evictions.Undo()
	places, left = settle(s.Parts)
	return evictFor(plan, evictions, places, left, deadline)
}

// evictFor finds places for members that are not settled.
func evictFor(
	plan *placement.Plan, evictions *placement.Evictions, places []placement.Place, left []unsettled, deadline time.Time,
) ([]placement.Place, *core.Evictions) {
	for i := range left {
		part := &left[i]
		near, prefer := part.undivided(plan.Snapshot())
		var found placement.Nearby
		switch {
		case near == nil:
			found.Outcome = evictions.PlaceAll(part.Pods, part.missing(), deadline)
		case near.Divides():
			return nil, &core.Evictions{Why: "nobody is evicted yet for gangs that are divided: into slices or shares, or evenly"}
		default:
			found = evictions.PlaceNear(part.Pods, part.missing(), near, prefer, deadline)
		}
		if !found.Kept {
			return nil, notFound(&found, part.settled, part.AtLeast, len(places), plan.Snapshot().NodeCount())
		}
		places = append(places, found.Places...)
	}
	return places, nil
}

// notFound says why too few members of a group get a place though others go.
func notFound(found *placement.Nearby, settled, atLeast, others, nodes int) *core.Evictions {
	switch {
	case found.Late:
		return &core.Evictions{Late: true}
	case found.Dear:
		return &core.Evictions{Why: "nobody is evicted for a domain that is only preferred"}
	}
	why := shortfall(found.Outcome, settled, atLeast, others, nodes)
	if found.Cut {
		why += "; not every domain was tried"
	}
	return &core.Evictions{Why: why}
}

// evictTogether is evictAll for groups that share one domain, which is required, and ask for nothing else: as if they were one.
func evictTogether(
	plan *placement.Plan, evictions *placement.Evictions, s core.Search, deadline time.Time,
) ([]placement.Place, *core.Evictions) {
	_, left := settle(s.Parts)
	common := &s.Within[0]
	t := membership.Along(common.Topology, plan.Snapshot())
	if len(s.Within) > 1 || len(common.Parts) < len(s.Parts) || t.Required == 0 ||
		slices.ContainsFunc(left, func(u unsettled) bool { return u.Topology.Asks() }) {
		return nil, &core.Evictions{Why: "nobody is evicted yet for gangs that share a domain and ask for another one as well"}
	}
	var pods []*cluster.Pod
	_, atLeast := sum(left)
	for i := range left {
		pods = append(pods, left[i].Pods[:min(len(left[i].Pods), max(left[i].missing(), 0))]...)
	}
	n := &placement.Network{Levels: t.Levels, Above: t.Above, Required: t.Required, Beside: indexesOf(common.Beside, plan.Snapshot())}
	found := evictions.PlaceNear(pods, len(pods), n, placement.Preference{}, deadline)
	if !found.Kept {
		return nil, notFound(&found, 0, atLeast, 0, plan.Snapshot().NodeCount())
	}
	return found.Places, nil
}
