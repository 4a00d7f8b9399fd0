package gang

import (
	"slices"
	"sort"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/runtimes"
)

// Outlook says after which ends of other pods the members of a gang would have places, if nobody else took the room.
type Outlook struct {
	Prospect // after these ends
	// Gangs are the gangs that start together, which are all that the places are for, and Priority is the one of the gang.
	Gangs    []membership.Key
	Priority int32
	// Places are for the members that have to start together, where each has one: see Fits.
	Places []placement.Place
	// Ends are the ends that have to come first, and others that come at the time of the last one. Where members do not all have places,
	// these are all that are expected.
	Ends []runtimes.End
}

// Fits reports whether all members that have to start together would have places.
func (o *Outlook) Fits() bool { return o.Found == o.Wanted }

// Outlook returns the outlook of a gang by expected ends, the first one first. It reports false where places would not be looked for, as
// Prospect does. Where fewer ends would do, it is of the fewest. What is booked for others counts as free where over is said. It
// searches with several plans, each as long as one for a filter call may be; nothing comes of them.
func (o *Observer) Outlook(key membership.Key, ends []runtimes.End, over bool) (Outlook, bool) {
	sought, ok := o.sought(key)
	if !ok {
		return Outlook{}, false
	}
	left := o.machine.ports.reservations.Left
	if over {
		left = o.machine.ports.reservations.LeftByPlans
	}
	pods, on := make([]*cluster.Pod, len(ends)), make([]string, len(ends))
	for i, end := range ends {
		pods[i], on[i] = end.Pod, end.Node.Name
	}
	after := func(count int) Outlook {
		found := Outlook{Priority: sought.Priority, Ends: ends[:count]}
		found.Prospect, found.Places = o.rehearse(sought.Search, left, pods[:count], on[:count])
		if o.machine.ports.lackingWithout(sought.Parts, pods[:count]) {
			found.Found = min(found.Found, found.Wanted-1)
		}
		for _, part := range sought.Parts {
			found.Gangs = append(found.Gangs, part.Key)
		}
		return found
	}
	best := after(len(ends))
	if !best.Fits() {
		return best, true
	}
	sort.Search(len(ends), func(count int) bool {
		found := after(count)
		if found.Fits() {
			best = found
		}
		return found.Fits()
	})
	for next := len(best.Ends); next > 0 && next < len(ends) && !ends[next].At.After(ends[next-1].At); next++ {
		best.Ends = ends[:next+1] // they end at the same time
	}
	return best, true
}

// sought returns the search for a gang that is made by its profile. It reports false where places would not be looked for, except where
// the least amount of a resource is lacking.
func (o *Observer) sought(key membership.Key) (core.Sought, bool) {
	m := o.machine
	m.mu.Lock()
	m.look()
	sought, ok := m.state.Seek(key, m.moment())
	m.mu.Unlock() // a search takes long, and calls wait for the lock
	sought.Store = m.view.profiles.Of(sought.SchedulerName)
	if !ok || sought.Store == nil || unseen(sought.Search, m.ports.cluster.Snapshot()) != "" {
		return core.Sought{}, false
	}
	return sought, true
}

// enough returns the places of the members that have to start together.
func enough(settled []placement.Place, together *placement.Together) []placement.Place {
	places := slices.Clone(settled)
	for i := range together.Enough {
		for _, place := range together.Enough[i].Places {
			if place.Node >= 0 {
				places = append(places, place)
			}
		}
	}
	return places
}
