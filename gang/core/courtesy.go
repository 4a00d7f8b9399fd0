package core

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// courtesy is how long a group leaves others alone: by muster.dev/preempt-after nobody is evicted for it before it has waited for room
// for a while, as nodes may come, or pods end, sooner. Its time begins when the group lacks nothing but room, and again when pods are
// evicted for it. It is over once the group has started, or has places without that. A process that takes over has it begin again.
type courtesy struct {
	since time.Time // zero before it begins
	told  time.Time // until when nobody is evicted, as people were told; zero for nothing
}

// begin has the time of a group begin that lacks room, unless it has before.
func (c *courtesy) begin(p part, now time.Time) {
	if c.since.IsZero() && p.spec.Policy.PreemptAfter > 0 {
		c.since = now
	}
}

// evicted has the time begin again, as pods are evicted for the group.
func (c *courtesy) evicted(now time.Time) { c.since = now }

// leavesOthers reports whether nobody is evicted for a group yet. It has to have lacked room before anybody is.
func (p part) leavesOthers(now time.Time) bool {
	after := p.spec.Policy.PreemptAfter
	return after > 0 && (p.courtesy.since.IsZero() || now.Before(p.courtesy.since.Add(after)))
}

// lacksRoom notes that a bundle lacks nothing but room, and until when nobody is evicted for it.
func (t *attempt) lacksRoom() {
	var until time.Time
	for _, p := range t.parts {
		p.courtesy.begin(p, t.now)
		if end := p.courtesy.since.Add(p.spec.Policy.PreemptAfter); p.leavesOthers(t.now) && end.After(until) {
			until = end
		}
	}
	if t.limits.EvictNobody || t.neverEvicts() {
		until = time.Time{}
	}
	t.first().courtesy.told = until
}

// leavesOthers reports whether nobody is evicted for a bundle yet, as one of its groups asks.
func (t *attempt) leavesOthers() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.leavesOthers(t.now) })
}

// saysBesides changes what is said, besides why a group has no place, of pods that might be evicted.
func (g *group) saysBesides(change func(*group)) {
	before, lacked, found := strings.TrimSuffix(g.why, g.besidesVictims()), g.lackedPlaces, g.found
	change(g)
	g.waits(g.reason, before+g.besidesVictims())
	g.lackedPlaces, g.found = lacked, found
}

// besidesVictims says, as part of why a group waits, what else speaks against places for it besides pods that might be evicted, and why
// these are not evicted yet.
func (g *group) besidesVictims() (words string) {
	if g.inTheWay != "" && g.courtesy.told.IsZero() {
		words = "; if all went that may be evicted: " + g.inTheWay
	}
	if spares := g.spares(); spares != "" {
		words += "; " + spares
	}
	return words
}

// spares says why pods are not evicted for a group yet: it leaves others alone, or some are to run for longer. It is "" otherwise.
func (g *group) spares() string {
	switch {
	case !g.courtesy.told.IsZero():
		return fmt.Sprintf("nobody is evicted for it before %s (muster.dev/preempt-after)", g.courtesy.told.UTC().Format(time.RFC3339))
	case !g.soughtOnce.IsZero():
		return "pods that have not run for as long as they ask to (muster.dev/min-runtime) are not evicted yet"
	default:
		return ""
	}
}
