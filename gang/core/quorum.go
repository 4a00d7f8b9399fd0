package core

import (
	"slices"
	"time"

	"muster.dev/muster/gang/membership"
)

// part is one of the groups that start together, with its present spec.
type part struct {
	*group
	spec *membership.Spec
}

// counted returns how many pods count towards minMember without being held. Failed pods do not: another pod has
// to take their place. No member of its own batch counts, unless members of the last batch were left behind:
// then the ones that were not left behind count.
func (p part) counted() int {
	if !p.spec.InBatches() {
		return p.letGo()
	}
	left := p.leftBehind()
	if left == 0 {
		return 0
	}
	return min(p.letGo(), max(p.spec.MinMember-left, 0))
}

// started reports whether members may start one by one.
func (p part) started() bool {
	return p.satisfiedOnce() || p.counted() >= p.spec.MinMember
}

// satisfiedOnce reports whether enough members to start together were bound once, and that is enough for good:
// as far as this process has seen, by the status of the PodGroup, or by its record. A record of a start alone
// does not prove it: its writer may have ended before any member was bound. The status forgets when members
// fail or go; a group without an object is forgotten once it has no pod, or the process ends.
func (p part) satisfiedOnce() bool {
	if !p.spec.Once() {
		return false
	}
	r := p.lastRecord()
	return p.satisfied || p.spec.WasSatisfied() || r != nil && (r.Bound || p.anyBound() && p.unfinished() == nil)
}

// anyBound reports whether a pod is bound, or was and has finished.
func (p part) anyBound() bool { return p.counts[bound]+p.done.succeeded+p.done.failed > 0 }

// missing returns how many members have to get a place yet.
func (p part) missing() int {
	if p.started() {
		return 0
	}
	c := p.counts
	return p.spec.MinMember - p.counted() - c[placed] - c.came()
}

// quorate reports whether enough members to start together have come or count already.
func (p part) quorate() bool { return p.started() || p.counted()+p.counts.came() >= p.spec.MinMember }

// mayFollow reports whether members may go without another record: after minMember others that are bound, or
// recorded as let go. Others on their way do not count: they may have followed members that are gone, and fail.
func (p part) mayFollow() bool {
	if !p.started() {
		return false
	}
	return p.satisfiedOnce() || p.wereBound() >= p.spec.MinMember || p.unfinished() != nil
}

// lacksMembers reports whether there are fewer members than must start together.
func (p part) lacksMembers() bool { return len(p.candidates()) < p.missing() }

// late reports whether members that have places have waited too long.
func (p part) late(now time.Time) bool { return p.holds() && !now.Before(p.deadline(p.spec)) }

// anyMissing reports whether members of a bundle have to get a place yet.
func anyMissing(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.missing() > 0 })
}

// bearable reports whether the members of a bundle that have places may wait for the ones without, until the
// time of their plan is up, if gap percent at most are without.
func bearable(parts []part, gap int) bool {
	return !slices.ContainsFunc(parts, func(p part) bool { return !p.spec.Bears(p.missing(), gap) })
}

func startedAll(parts []part) bool {
	for _, p := range parts {
		if !p.started() {
			return false
		}
	}
	return true
}

// unplanned returns the parts whose time has not begun: no member has a place yet.
func unplanned(parts []part) []part {
	var anew []part
	for _, p := range parts {
		if !p.holds() || p.planned.IsZero() {
			anew = append(anew, p)
		}
	}
	return anew
}

// earliestEnd returns when the time of the first of the groups is up.
func earliestEnd(parts []part) time.Time {
	var end time.Time
	for _, p := range parts {
		if at := p.deadline(p.spec); p.holds() && (end.IsZero() || at.Before(end)) {
			end = at
		}
	}
	return end
}
