package gang

import (
	"errors"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
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
	if len(s.Within) > 0 {
		return nil, &core.Evictions{Why: "nobody is evicted yet for gangs that share a domain"}
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
		switch {
		case found.Kept:
			places = append(places, found.Places...)
		case found.Late:
			return nil, &core.Evictions{Late: true}
		case found.Dear:
			return nil, &core.Evictions{Why: "nobody is evicted for a domain that is only preferred"}
		default:
			why := shortfall(found.Outcome, part.settled, part.AtLeast, len(places), plan.Snapshot().NodeCount())
			if found.Cut {
				why += "; not every domain was tried"
			}
			return nil, &core.Evictions{Why: why}
		}
	}
	return places, nil
}
