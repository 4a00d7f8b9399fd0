package core

import (
	"fmt"

	"muster.dev/muster/gang/status"
)

// whyItWaits returns why a group waits, by what is true now. What was said when it was last planned may be over, and of
// several reasons the first of the list counts. A group that was let go may wait for members that kube-scheduler refuses: for
// a volume or the like, which muster knows nothing of.
func (s *State) whyItWaits(g *group) waiting {
	parts, not := s.together(g)
	if not != nil {
		return not.waiting
	}
	lack := lackOf(parts)
	switch left := g.left(); {
	case lack.reason != status.None && (g.reason != status.None || g.done.failed == 0): // else the counts speak of those
		return lack
	case g.reason != status.None && g.reason <= status.MembersMissing:
		return waiting{status.Waiting, fmt.Sprintf("all %d members are there, and are planned next", parts[0].spec.MinMember)}
	case g.reason == status.None && left != nil:
		return waiting{status.Unschedulable, left.whyLeft()}
	}
	return g.waiting
}

// whyNow returns in words why a group waits, for people who ask at a moment. It tells them of a reason that was found in an older
// state of the cluster, and of a group that waits though nothing keeps it.
func (s *State) whyNow(g *group, waits waiting, at Moment) string {
	if waits.why == "" {
		if parts, not := s.together(g); not != nil || !anyMissing(parts) {
			return ""
		}
		return "its members are there, and places for them have not been looked for yet"
	}
	if g.lackedPlaces && g.looked != at.Generation && waits == g.waiting {
		return "when it was last planned: " + waits.why
	}
	return waits.why
}

// lackOf says which members of a bundle have to be created yet; nothing when none has.
func lackOf(parts []part) waiting {
	for _, p := range parts {
		if p.lacksMembers() {
			return p.lacks(parts[0].group)
		}
	}
	return waiting{}
}

// lacks says which members are missing, to a group that starts together with theirs.
func (p part) lacks(to *group) waiting {
	why := p.count().awaits(p.spec.MinMember)
	if p.group != to {
		why += " in " + p.key.String()
	}
	if never := p.spec.Withheld(p.pods()); never != "" {
		return waiting{status.MembersWithheld, why + ", in vain: " + never}
	}
	return waiting{status.MembersMissing, why}
}

// dissent says in words how members disagree about the minimum, "" when they do not.
func (g *group) dissent() string {
	if g.unasked() != nil {
		return ""
	}
	return g.spec.Dissent(g.pods())
}

// Mistakes returns how many groups have members that disagree about the minimum, and how many ask for members that come only
// once others have started.
func (s *State) Mistakes() (disagree, withheld int) {
	for _, g := range s.groups {
		if g.dissent() != "" {
			disagree++
		}
		if g.unasked() == nil && g.spec.Withheld(g.pods()) != "" && s.whyItWaits(g).reason == status.MembersWithheld {
			withheld++
		}
	}
	return disagree, withheld
}

// corrects has the scheduler ask again about members that it was told of what is over: that something is asked for that does
// not make sense, or that members are missing. What stands in their condition PodScheduled would be untrue for as long as
// the scheduler leaves them alone. Such a change is somebody's doing, and rare.
func (t *turn) corrects(parts []part, reason string) {
	if isHindrance(reason) {
		return
	}
	for _, part := range parts {
		misled := func(p *member) bool { return p.stage == pending && !p.untrue && isHindrance(p.told) && p.ready() }
		for _, p := range part.those(misled) {
			p.untrue = true
			t.has(Wake{p.pod.UID})
		}
	}
}

// isHindrance reports whether a reason is one that no change of the nodes ends.
func isHindrance(reason string) bool {
	switch reason {
	case ReasonNoGroup, ReasonInvalid, ReasonSiblings:
		return true
	}
	return false
}
