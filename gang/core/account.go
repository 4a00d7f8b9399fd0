package core

import (
	"fmt"
	"strings"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
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

// account counts the members of a part at a time.
func (p part) account(now time.Time) Account {
	a := p.count()
	a.Resting = len(p.those(func(m *member) bool { return m.stage == pending && m.ready() && now.Before(m.restsUntil) }))
	a.Ready -= a.Resting
	return a
}

// count counts the members of a part. Each that has no place is counted once, as ready if it rests.
func (p part) count() Account {
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
		default:
			a.Ready++
		}
	}
	a.Missing = max(0, a.Lacking-a.Ready-a.Gated-a.Claimless)
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
func (a Account) awaits(of int) string {
	var what []string
	note := func(n int, how string) {
		if n > 0 {
			what = append(what, fmt.Sprintf("%d %s", n, how))
		}
	}
	note(a.Missing, "to be created")
	note(a.Gated, "held back by gates of others")
	note(a.Claimless, "without their ResourceClaims")
	more := a.Lacking - a.Ready
	why := fmt.Sprintf("waiting for %d more of %d members", more, of)
	if a.Missing == more {
		why += " to be created"
	} else {
		why += ": " + strings.Join(what, ", ")
	}
	if a.Leaving > 0 {
		why += fmt.Sprintf("; %d that are being deleted do not count", a.Leaving)
	}
	return why
}

// Sought is the search for places that would be made for a gang now.
type Sought struct {
	SchedulerName string // of the profile that plans it
	Priority      int32
	Search        // without a store
	// Lower are the members that have places in gangs of lower priority, which give way, and LowerOn their nodes.
	Lower   []*cluster.Pod
	LowerOn []string
	// InVain says that a plan on the present nodes has found too few places: none is made before they change.
	InVain bool
}

// Seek returns the search for a gang. It reports false where none would be made, as members may start one by one or are missing,
// and for a gang of a tree of groups: a plan for it tries one choice of gangs after the other.
func (s *State) Seek(key membership.Key, at Moment) (Sought, bool) {
	g := s.groups[key]
	if g == nil {
		return Sought{}, false
	}
	parts, not := s.together(g)
	if not != nil || !anyMissing(parts) || len(parts[0].spec.Above) > 0 {
		return Sought{}, false
	}
	sought := Sought{SchedulerName: g.schedulerName, Priority: g.priority, InVain: g.lackedPlaces && g.looked == at.Generation}
	for _, p := range parts {
		if account := p.account(at.Now); account.Short() > 0 || len(p.members) > 0 && p.schedulerName != g.schedulerName {
			return Sought{}, false
		}
		sought.Parts = append(sought.Parts, p.wanted(p.plannable(at.Now)))
	}
	sought.Within = s.commons(parts)
	sought.Lower, sought.LowerOn = s.Lower(g.priority)
	return sought, true
}
