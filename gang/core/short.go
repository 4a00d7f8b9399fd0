package core

import (
	"fmt"
	"math"
	"slices"
	"time"

	"muster.dev/muster/gang/status"
)

// A gang that starts without calls of the scheduler's may stay short: its gates were lifted, and too few
// members were bound. There is no place for the others, or the scheduler refuses them for a reason unknown to
// muster. The members that run do so in vain, and keep room. After [Limits.BreakAfter] they are evicted, so
// that their controllers make them again and the gang waits whole. A gang that was whole once is left alone.

// breakShort breaks up the gangs that have been short for long enough.
func (t breakup) breakShort() {
	if t.limits.BreakAfter == 0 {
		return
	}
	for _, g := range t.those(func(g *group) bool { return g.leads(t.view) }) {
		parts, not := t.together(g)
		switch {
		case not != nil || !isShort(parts):
			g.short = time.Time{}
		case g.short.IsZero():
			g.short = t.now
		case !t.now.Before(g.short.Add(t.limits.BreakAfter)):
			g.short = time.Time{}
			for _, p := range parts {
				t.doomAll(p.group, math.MaxInt32, g)
			}
		}
	}
}

// isShort reports whether fewer of a bundle are bound than must run together, after a start that was not completed. The
// others may have places, and the scheduler refuse them there again and again.
func isShort(parts []part) bool {
	lacks := func(p part) bool { return !p.satisfiedOnce() && p.wereBound() < p.spec.MinMember }
	return slices.ContainsFunc(parts, lacks) && slices.ContainsFunc(parts, func(p part) bool { return p.unfinished() != nil })
}

// ends reports whether members of a bundle are about to be evicted, as too few of them run. They count until that shows,
// so nothing is planned beside them.
func (t breakup) ends(parts []part) bool {
	going := 0
	for uid := range t.doomed {
		for _, p := range parts {
			if member := p.members[uid]; member != nil && member.stays() {
				going++
			}
		}
	}
	if going > 0 {
		parts[0].waits(status.Waiting, fmt.Sprintf("waiting for %d of its members to be evicted: too few of them run", going))
	}
	return going > 0
}
