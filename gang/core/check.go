package core

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/membership"
)

// Check returns the first invariant of the package that does not hold between two events, nil when all hold. It
// is for tests: it recounts everything.
func (s *State) Check(view View) error {
	c := check{State: s, holding: map[string]int{}, holds: map[HoldID]types.UID{}}
	for _, g := range s.groups {
		c.group(g)
	}
	rooted := 0
	for root, below := range s.trees {
		rooted += len(below)
		for _, g := range below {
			if g.root != root || s.groups[g.key] != g {
				c.bad("%s is known to be below %s, and is below %s", g.key, root, g.root)
			}
		}
	}
	for _, g := range s.groups {
		if g.root != (membership.Key{}) {
			rooted--
		}
	}
	if rooted != 0 {
		c.bad("%d more groups are known to be in trees than are", rooted)
	}
	for g := range s.partly {
		if s.groups[g.key] != g {
			c.bad("%s is known to run in part, and is no group", g.key)
		}
	}
	if !maps.Equal(c.holding, s.holding) {
		c.bad("groups that hold places: counted %v, are %v", s.holding, c.holding)
	}
	for uid, g := range s.groupOf {
		if p := g.members[uid]; p == nil || s.groups[g.key] != g {
			c.bad("%s is of %s, which does not have it", uid, g.key)
		} else {
			c.member(p, view.Assumed(uid))
		}
	}
	return errors.Join(c.wrong...)
}

// check recounts a state.
type check struct {
	*State
	holding map[string]int
	holds   map[HoldID]types.UID
	wrong   []error
}

func (c *check) bad(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

func (c *check) group(g *group) {
	if _, known := c.partly[g]; known != g.isPartly() {
		c.bad("%s runs in part: %t, and is known to: %t", g.key, g.isPartly(), known)
	}
	var counted counts
	for uid, p := range g.members {
		counted[p.stage]++
		if c.groupOf[uid] != g {
			c.bad("%s is a member of %s, and of another group", uid, g.key)
		}
		if g.done.has(uid) {
			c.bad("%s is a member of %s, and has finished", uid, g.key)
		}
		if other, twice := c.holds[p.hold]; twice && p.hold != 0 {
			c.bad("%s and %s have one hold", uid, other)
		}
		c.holds[p.hold] = uid
	}
	for _, p := range g.in(held) {
		if p.until.Before(g.firstEnd) || g.firstEnd.IsZero() {
			c.bad("the call for %s ends before any of %s does", p.pod.UID, g.key)
		}
	}
	if counted != g.counts {
		c.bad("%s: counted %v, are %v", g.key, g.counts, counted)
	}
	if len(g.members)+len(g.done.pods) == 0 {
		c.bad("%s has no pod", g.key)
	}
	if g.recording != 0 && c.commits[g.recording] == nil {
		c.bad("%s waits for record %d, which nobody writes", g.key, g.recording)
	}
	if g.holds() {
		c.holding[g.key.Namespace]++
	}
}

func (c *check) member(p *member, assumed string) {
	if (p.waitsForCall() || p.stage == held) && assumed != p.place {
		c.bad("%s is %s on %q, and counts on %q", p.pod.UID, p.stage, p.place, assumed)
	}
	if (p.stage == held) != (p.hold != 0) {
		c.bad("%s is %s, its hold: %d", p.pod.UID, p.stage, p.hold)
	}
	if (p.stage == pending) != (p.place == "") {
		c.bad("%s is %s, its place: %q", p.pod.UID, p.stage, p.place)
	}
}
