package core

import (
	"fmt"
	"strings"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// Account counts the members of a gang against the number that must start together, when that is known.
type Account struct {
	// Started says that members start one by one: enough of them have started together.
	Started bool `json:"started,omitempty"`
	// Lacking is how many more members must get a place before any starts. Ready is how many of those without one may get
	// it now, and Gated, Claimless and Resting why others may not: they are held back by gates of others, or have no
	// ResourceClaims yet, or were refused by the scheduler a moment ago.
	Lacking   int `json:"lacking"`
	Ready     int `json:"ready"`
	Gated     int `json:"gated,omitempty"`
	Claimless int `json:"claimless,omitempty"`
	Resting   int `json:"resting,omitempty"`
	// Leaving is how many are being deleted: they do not count.
	Leaving int `json:"leaving,omitempty"`
	// Missing is how many are yet to be created.
	Missing int `json:"missing,omitempty"`
}

// account counts the members of a part. Each that has no place is counted once.
func (p part) account(now time.Time) Account {
	a := Account{Started: p.started(), Lacking: max(0, p.missing())}
	for _, m := range p.members {
		switch {
		case m.leaves():
			a.Leaving++
		case m.stage != pending:
		case membership.GatedByOthers(m.pod.Pod):
			a.Gated++
		case m.lacksClaims():
			a.Claimless++
		case now.Before(m.restsUntil):
			a.Resting++
		default:
			a.Ready++
		}
	}
	a.Missing = max(0, a.Lacking-a.Ready-a.Gated-a.Claimless-a.Resting)
	return a
}

// leaves reports whether a member is being deleted, and does not count for that. One that is on its way to its node counts
// until that is known.
func (p *member) leaves() bool {
	return p.stage == leaving || p.stage == pending && p.pod.DeletionTimestamp != nil
}

// Short returns how many members are missing, or may not get a place now, of the number that must have one before any starts.
func (a *Account) Short() int { return max(0, a.Lacking-a.Ready) }

// awaits says what too few members are waited for, of the number that must start together.
func (a *Account) awaits(of int) string {
	var what []string
	note := func(n int, how string) {
		if n > 0 {
			what = append(what, fmt.Sprintf("%d %s", n, how))
		}
	}
	note(a.Missing, "to be created")
	note(a.Gated, "held back by gates of others")
	note(a.Claimless, "without their ResourceClaims")
	note(a.Resting, "that rest, as they were let go and not bound")
	why := fmt.Sprintf("waiting for %d more of %d members", a.Short(), of)
	if a.Missing == a.Short() {
		why += " to be created"
	} else {
		why += ": " + strings.Join(what, ", ")
	}
	if a.Leaving > 0 {
		why += fmt.Sprintf("; %d that are being deleted do not count", a.Leaving)
	}
	return why
}

// whyNow returns why a group waits, by its members as they are now: since it was last planned, some may have come or gone.
func (s *State) whyNow(g *group, at Moment) string {
	parts, not := s.together(g)
	if not != nil {
		return not.why
	}
	for _, p := range parts {
		account := p.account(at.Now)
		if account.Ready+account.Resting >= account.Lacking {
			continue // they are there
		}
		why := account.awaits(p.spec.MinMember)
		if p.group != g {
			why += " in " + p.key.String()
		}
		return why
	}
	switch waits := g.whyItWaits(); {
	case waits.reason == status.MembersMissing, waits.why == "" && anyMissing(parts):
		return "its members are there, and places for them have not been looked for yet"
	case g.lackedPlaces && g.looked != at.Generation:
		return "when it was last planned: " + waits.why
	default:
		return waits.why
	}
}

// Sought is the search for places that would be made for a gang now.
type Sought struct {
	SchedulerName string // of the profile that plans it
	Parts         []Wanted
	// Lower are the members that have places in gangs of lower priority, which give way, and LowerOn their nodes.
	Lower   []*cluster.Pod
	LowerOn []string
	// InVain says that a plan on the present nodes has found too few places: none is made before they change.
	InVain bool
}

// Seek returns the search for a gang. It reports false where none would be made: members may start one by one, or are missing.
func (s *State) Seek(key membership.Key, at Moment) (Sought, bool) {
	g := s.groups[key]
	if g == nil {
		return Sought{}, false
	}
	parts, not := s.together(g)
	if not != nil || !anyMissing(parts) {
		return Sought{}, false
	}
	for _, p := range parts {
		if account := p.account(at.Now); account.Short() > 0 || len(p.members) > 0 && p.schedulerName != g.schedulerName {
			return Sought{}, false
		}
	}
	lower, on := s.Lower(g.priority)
	return Sought{
		SchedulerName: g.schedulerName, Parts: wanted(parts, func(p part) []*member { return p.plannable(at.Now) }),
		Lower: lower, LowerOn: on, InVain: g.lackedPlaces && g.looked == at.Generation,
	}, true
}

// search returns what the pending members of a plan ask for. If others are to be evicted, the member that the
// scheduler asks about comes first: an eviction for it happens at once.
func (t *attempt) search() Search {
	return Search{Store: t.first().store, Parts: wanted(t.parts, func(p part) []*member {
		candidates := p.plannable(t.now)
		if t.evicting {
			candidates = toFront(candidates, t.asking)
		}
		return candidates
	})}
}

// wanted returns what members of parts ask for.
func wanted(parts []part, of func(part) []*member) (all []Wanted) {
	for _, p := range parts {
		w := Wanted{Key: p.key, Pods: podsOf(of(p)), AtLeast: p.missing(), Resources: p.spec.MinResources}
		if len(w.Resources) > 0 {
			w.Own = podsOf(p.those(func(p *member) bool { return p.stage != pending }))
		}
		all = append(all, w)
	}
	return all
}
