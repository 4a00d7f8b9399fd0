package gangfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

const (
	// vigilLength is for how long gangs are looked at that cannot start, once all is calm.
	vigilLength = 20 * time.Second
	// vigilSlack is for how much longer than it may a gang may hold room then: looks are some time apart.
	vigilSlack = 2 * time.Second
	// mostWrites is how often muster may write something about a gang that waits, for each of its members, in a
	// vigil: each try wakes them, and a plan that is given up is told.
	mostWrites = 10
)

// vigil is what was seen of gangs that cannot start while nothing else happened.
type vigil struct {
	from, to time.Time
	held     map[string]time.Duration // for which a gang held room, by name
	writes   map[string]int
}

// keepVigil looks at the gangs that the scheduler keeps from starting, if there are any.
func (r *run) keepVigil(ctx context.Context) error {
	var waiting []*gang
	for _, g := range r.script.gangs {
		if g.hopeless() && !r.record.started(g) {
			waiting = append(waiting, g)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	r.Note("look at gangs that cannot start")
	v := vigil{from: time.Now(), held: map[string]time.Duration{}, writes: map[string]int{}}
	last := v.from
	for time.Since(v.from) < vigilLength {
		faultcampaign.Pause(ctx, 2*faultcampaign.Look)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		gangs, err := r.lane.Muster.Gangs(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, g := range waiting {
			if is := gangs[workload.Namespace+"/"+g.name]; is.Placed+is.Held > 0 {
				v.held[g.name] += now.Sub(last)
			}
		}
		last = now
	}
	v.to = last
	for _, g := range waiting {
		v.writes[g.name] = r.traffic.writesSince(g.name, v.from)
		r.Note(fmt.Sprintf("gang %s has held room for %s of %s, and was written about %d times", g.name, v.held[g.name].Round(time.Millisecond),
			v.to.Sub(v.from).Round(time.Second), v.writes[g.name]))
	}
	r.vigil = v
	return nil
}

// started says that a gang is whole.
func (r *record) started(g *gang) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.standing(groupKey{g.label, g.name}).whole()
}

// mayHold is for how long a gang that does not start may hold room in a span: it tries for its time and rests for
// a first rest, twice as long each time. At worst it has just begun to try for the first time.
func mayHold(timeout, rest, span time.Duration) (held time.Duration) {
	for ; span > 0; rest *= 2 {
		held += min(timeout, span)
		span -= timeout + rest
	}
	return held
}

// judge holds what was seen against what a gang may hold, and how often it may be written about.
func (v *vigil) judge(gangs map[string]*gang) (findings []finding) {
	for name, writes := range v.writes {
		g, length := gangs[name], v.to.Sub(v.from)
		if limit := mayHold(g.timeout, deniedTTL, length) + vigilSlack; v.held[name] > limit {
			findings = append(findings, finding{keptRoom, fmt.Sprintf("gang %s cannot start, and holds room for %s of %s, want at most %s",
				name, v.held[name].Round(time.Millisecond), length.Round(time.Millisecond), limit)})
		}
		if writes > mostWrites*g.replicas {
			findings = append(findings, finding{wroteMuch, fmt.Sprintf("muster writes %d times about gang %s of %d members in %s", writes, name,
				g.replicas, length.Round(time.Second))})
		}
	}
	return findings
}
