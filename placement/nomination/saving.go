package nomination

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// gapsKept of a kind are enough for their median to be steady, and few enough for it to follow the workload.
	gapsKept = 33
	// gapsNeeded of a kind say something.
	gapsNeeded = 9
	// idle is a gap in which the scheduler had nothing to do, unless a backlog waited. It is then as long as a gap may count: the
	// scheduler may have stood still.
	idle = 100 * time.Millisecond
	// oldGap is the age from which on gaps say nothing of what the scheduler does now.
	oldGap = time.Minute
	// fewStanding nominations make no difference to pods without one.
	fewStanding = 50
	// turnsKept is the number of pods that it takes to tell in which order the scheduler takes them.
	turnsKept = 32
)

// saving measures what nominations save the scheduler: from when it asks about one pod to when it asks about the next it
// looks for nodes for the latter, on one node if that is nominated, else on many. It asks about one at a time.
type saving struct {
	last  types.UID
	asked time.Time
	// busy says that a backlog waited when the scheduler asked last.
	busy bool

	nominated, others gaps
	// turns says of the last pods that were taken up while nominations held up others whether each was nominated.
	turns []bool
	// astray says that they mostly were not: the scheduler takes pods in another order.
	astray bool
}

// gaps are the last ones of a kind.
type gaps struct {
	all  []time.Duration
	at   int // where the next one goes, once there are enough
	seen time.Time
}

// pass takes in that the scheduler asks about a pod of another profile, or of a gang. The gap before says nothing.
func (s *saving) pass(pod types.UID, now time.Time) { s.last, s.asked = pod, now }

// note takes in that the scheduler asks about a pod. Crowded says that nominations hold up pods without one, busy that a
// backlog waits.
func (s *saving) note(pod types.UID, nominated, crowded, busy bool, now time.Time) {
	gap, again, idled := now.Sub(s.asked), pod == s.last, !s.busy
	s.last, s.asked, s.busy = pod, now, busy
	if again {
		return
	}
	if crowded {
		s.turns = append(s.turns, nominated)
		s.turns = s.turns[max(0, len(s.turns)-turnsKept):]
	}
	switch {
	case gap >= idle && idled:
	case nominated:
		s.nominated.add(min(gap, idle), now)
	case !crowded:
		s.others.add(min(gap, idle), now)
	}
}

// inOrder reports whether the scheduler takes up the pods that are nominated.
func (s *saving) inOrder() bool {
	hits := 0
	for _, hit := range s.turns {
		if hit {
			hits++
		}
	}
	return len(s.turns) < turnsKept || 2*hits >= turnsKept
}

// perPod returns how much sooner the scheduler comes to the next pod by a nomination, all of the time that it needs without
// one while it is not known how long it needs with one; false while neither is known.
func (s *saving) perPod(now time.Time) (saved time.Duration, known bool) {
	if len(s.others.all) < gapsNeeded || now.Sub(s.others.seen) >= oldGap {
		return 0, false
	}
	saved = s.others.median()
	if len(s.nominated.all) >= gapsNeeded {
		saved -= s.nominated.median()
	}
	return saved, true
}

func (g *gaps) add(gap time.Duration, now time.Time) {
	g.seen = now
	if len(g.all) < gapsKept {
		g.all = append(g.all, gap)
		return
	}
	g.all[g.at] = gap
	g.at = (g.at + 1) % gapsKept
}

func (g *gaps) median() time.Duration {
	sorted := slices.Sorted(slices.Values(g.all))
	return sorted[len(sorted)/2]
}

// stepsAside reports whether pods that are not gated are left to the scheduler: few wait, it is not known how long the
// scheduler takes by itself, nominations save too little, or it takes pods in another order and not all of them can be
// nominated. A scheduler that never asks is not known.
func (c *course) stepsAside() bool {
	if c.limits.MinSaving == 0 {
		return false
	}
	if !c.isBacklog() || c.saving.astray {
		return true
	}
	saved, known := c.saving.perPod(c.clock.Now())
	return !known || saved < c.limits.MinSaving
}

// isBacklog reports whether pods wait faster than the scheduler takes them.
func (c *course) isBacklog() bool { return c.ahead()+len(c.backlog)+c.behind() >= c.limits.MinBacklog }

// crowds reports whether many nominations stand and hold up pods like this one that have none. The scheduler
// tries such pods twice on each node that other pods are nominated to (RunFilterPluginsWithNominatedPods in
// pkg/scheduler/framework/runtime). With offload a try costs it next to nothing.
func (c *course) crowds(p *nominee) bool {
	return c.counts[standing] >= fewStanding && !p.store.Profile.Offload
}

// takeHeart forgets that the scheduler takes pods in another order once all that wait can be nominated.
func (c *course) takeHeart() {
	if c.ahead()+len(c.backlog) <= c.limits.MaxAhead {
		c.saving.astray = false
	}
}

// asked follows that the scheduler asks about a pod of the profiles that nominate. When it comes to others than were
// nominated, all nominations of single pods are given up, as they hold up the rest.
func (c *course) asked(p *nominee) {
	if c.limits.MinSaving == 0 {
		return
	}
	if p.store == nil || p.ahead() {
		c.saving.pass(p.pod.UID, c.clock.Now())
		return
	}
	c.saving.note(p.pod.UID, p.stage == standing, c.crowds(p), c.isBacklog(), c.clock.Now())
	if c.saving.inOrder() {
		return
	}
	c.saving.turns, c.saving.astray = nil, true
	for _, other := range c.nominees {
		if other != p && other.stage.holds() && !other.mustBePlaced() {
			c.end(other, Astray)
			c.giveUp(other)
		}
	}
}
