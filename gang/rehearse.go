package gang

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// Prospect says where members of a gang without a place would go, were they planned now: as if each were there before the
// next one is looked at.
type Prospect struct {
	Snapshot *cluster.Snapshot
	Store    *predicates.VerdictStore
	// Wanted is how many members of this gang, and of the gangs that start together with it, have to get a place before any
	// starts, and Found how many would.
	Wanted, Found int
	// Yielding says that gangs of lower priority give up their places for them.
	Yielding bool
	// Cut says that not every way to place them was tried: here, or by a plan that found less than this.
	Cut bool
	// Against counts the nodes by what is against the first member without a place, beside all that have one.
	Against []placement.Objection
	// Lacks says in words what the network lacks for them, "" for nothing.
	Lacks string
	// Own are the members of the gang that were looked at, with their places.
	Own []placement.Place
}

// Prospect returns the prospect of a gang. It reports false where places would not be looked for: members start one by one,
// are missing, or have places. Nothing is planned by it.
func (o *Observer) Prospect(key membership.Key) (Prospect, bool) {
	sought, ok := o.sought(key)
	if !ok || o.machine.ports.lacking(sought.Parts) != "" {
		return Prospect{}, false
	}
	left := o.machine.ports.reservations.Left
	found, _ := o.rehearse(sought.Search, left, nil, nil)
	found.Cut = found.Cut || sought.InVain && found.Found == found.Wanted
	if found.Found < found.Wanted && len(sought.Lower) > 0 {
		if yielded, _ := o.rehearse(sought.Search, left, sought.Lower, sought.LowerOn); yielded.Found == yielded.Wanted {
			yielded.Yielding = true
			return yielded, true
		}
	}
	return found, true
}

// Yielding returns the members that have places in gangs of a lower priority than a number, which give way to others, and
// their nodes.
func (o *Observer) Yielding(above int32) (pods []*cluster.Pod, on []string) {
	o.machine.mu.Lock()
	defer o.machine.mu.Unlock()
	o.machine.receive()
	return o.machine.state.Lower(above)
}

// First returns the gangs that run with too few members, so that the others are placed before a pod.
func (o *Observer) First(pod *cluster.Pod) []membership.Key {
	o.machine.mu.Lock()
	defer o.machine.mu.Unlock()
	o.machine.look()
	return o.machine.state.Lost(podPriority(pod), o.machine.view.Generation(), pod.UID)
}

// rehearse finds places for the members of all parts as a plan would, and takes none. They go to no node that is left to others, and
// others give up their places, on nodes. It also returns the places of all that have to start together.
func (o *Observer) rehearse(
	sought core.Search, left func([]*cluster.Pod) sets.Set[string], others []*cluster.Pod, on []string,
) (Prospect, []placement.Place) {
	pods := podsOf(sought.Parts)
	plan := placement.New(sought.Store, pods, 0)
	defer plan.Close()
	plan.Avoid(left(pods))
	for i, pod := range others {
		if node := plan.Snapshot().NodeByName(on[i]); node != nil {
			plan.Take(pod, node.Index)
		}
	}
	settled, missing, together := rehearse(plan, sought, o.machine.clock.Now().Add(o.patience))
	p := Prospect{
		Snapshot: plan.Snapshot(), Store: sought.Store, Cut: !together.Kept && (together.Cut || together.Late),
		Own: ofPart(&sought.Parts[0], settled),
	}
	p.Wanted, p.Found = counts(missing, &together)
	for i := range together.Enough {
		if lack := together.Enough[i].Lack; lack != nil && p.Lacks == "" {
			p.Lacks = farOff(lack)
		}
		for _, place := range together.Enough[i].Places {
			if place.Node < 0 && p.Against == nil {
				p.Against = place.Against
			}
		}
		if i == 0 {
			p.Own = append(p.Own, together.Enough[0].Places...)
		}
	}
	if len(together.More) > 0 {
		p.Own = append(p.Own, together.More[0].Places...)
	}
	return p, enough(settled, &together)
}

// counts returns how many members have to have places, and how many have one.
func counts(left []unsettled, together *placement.Together) (wanted, found int) {
	found, wanted = sum(left)
	if together.Shared {
		return wanted, found + together.Enough[0].Placed
	}
	for i := range together.Enough {
		found += min(together.Enough[i].Placed, left[i].missing())
	}
	return wanted, found
}

// ofPart returns the places of members of one part.
func ofPart(part *core.Wanted, places []placement.Place) []placement.Place {
	return slices.DeleteFunc(slices.Clone(places), func(at placement.Place) bool { return !slices.Contains(part.Pods, at.Pod) })
}
