package planner

import (
	"math"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// wish is a Wish in the search.
type wish struct {
	Wish           // complete
	item    int32  // -1 when the pod may not be moved
	fixed   string // why it may not
	open    bool   // it was its turn, and the pod is to leave
	moot    bool   // it was its turn, and the pod may stay
	givenUp bool   // nothing that was planned for it could be proven
}

// wishesOf looks up the items of all that are to leave.
func wishesOf(r *roster, wanted []Wish) []*wish {
	var wishes []*wish
	for at := range wanted {
		w := &wish{Wish: wanted[at].complete(), item: -1}
		wishes = append(wishes, w)
		node := r.snap.NodeByName(w.Pod.Spec.NodeName)
		if node == nil {
			w.fixed = ReasonNotBound
			continue
		}
		r.load(node.Index)
		for _, item := range r.on[node.Index] {
			if i := &r.items[item]; i.pod.UID == w.Pod.UID {
				w.item = item
				if i.wish == nil {
					i.wish = w
				}
			}
		}
		if w.item < 0 {
			w.fixed = r.fixed(spot{w.Pod, node.Index})
		}
	}
	return wishes
}

// departures has pods leave their nodes.
type departures struct {
	*state

	roster    *roster
	rehearsal *rehearsal
	insertion *insertion
	savings   *savings
	audit     *audit
	watch     *stopwatch
	wishes    []*wish
}

func newDepartures(s *search, wishes []Wish) *departures {
	return &departures{
		state: s.state, roster: s.roster, rehearsal: s.rehearsal, insertion: s.insertion, savings: s.savings, audit: s.audit, watch: s.watch,
		wishes: wishesOf(s.roster, wishes),
	}
}

// grantAll grants every wish that it can. Room that one pod leaves may serve another, so it goes on until none
// is granted any more.
func (d *departures) grantAll() {
	for _, w := range d.wishes {
		w.open, w.moot = false, false // by an attempt before this one
	}
	for granted := true; granted; {
		granted = false
		for _, w := range d.wishes {
			if w.item < 0 || w.givenUp || d.items[w.item].away() || d.watch.past() {
				continue
			}
			w.open = w.While(d.rehearsal.place(w.item))
			w.moot = !w.open
			granted = w.open && d.grant(w.item) || granted
		}
	}
}

// grant finds another place for an item and all of its unit, with as few moves in a row as can
// be. It changes nothing when it reports false.
func (d *departures) grant(at int32) bool {
	before, unit := len(d.log), d.items[at].unit
	for depth := range d.insertion.hops {
		var ejected []int32
		if d.insertion.eject(unit, math.MaxInt32, &ejected) && d.insertion.placeAll(ejected, depth, d.items[at].limit) {
			d.savings.letStay()
			if _, ok := d.audit.sound(); ok {
				return true
			}
		}
		d.back(before)
	}
	return false
}

// giveUp gives up the wishes for items of a wake, all when it is said so.
func (d *departures) giveUp(all bool, made wake) {
	for _, w := range d.wishes {
		w.givenUp = w.givenUp || all || made.leaving.Has(w.item)
	}
}

// want adds the wish that an item leaves its node, whose turn it is.
func (d *departures) want(at int32, why string) {
	i := &d.items[at]
	w := &wish{Wish: (&Wish{Pod: i.pod, Why: why}).complete(), item: at, open: true}
	i.wish, d.wishes = w, append(d.wishes, w)
}

// forget takes all wishes back except the first ones.
func (d *departures) forget(but int) {
	for _, w := range d.wishes[but:] {
		d.items[w.item].wish = nil
	}
	d.wishes = d.wishes[:but]
}

// Wish asks that a pod leave its node. Such pods are the reason of a plan, as pending pods are for MakeRoom.
type Wish struct {
	Pod *cluster.Pod // on a node of the snapshot
	// Why says in words why it is to leave, as part of a sentence about the pod: "does not
	// tolerate a taint of worker-a".
	Why string
	// While, if set, says that it is still to leave: when it is its turn, with what has been
	// planned by then, others may have gone, so that it may stay. It must depend on nothing else.
	While func(Place) bool
	// To, if set, says that it may go to a node, besides what the predicates say. The node is
	// as it is when the pod comes there, with what the plan has brought there by then.
	To func(*cluster.Node) bool
	// Worth, if set, says that it is worth to go from its node to another one: both as they are
	// when the pod comes there, with what the plan has moved by then. The pod may or may not
	// be on the former any more.
	Worth func(from, to *cluster.Node) bool
}

// complete returns the wish with a function for each that is not set: the pod is still to leave, and may go anywhere.
func (w *Wish) complete() Wish {
	complete := *w
	if complete.While == nil {
		complete.While = func(Place) bool { return true }
	}
	if complete.To == nil {
		complete.To = func(*cluster.Node) bool { return true }
	}
	if complete.Worth == nil {
		complete.Worth = func(_, _ *cluster.Node) bool { return true }
	}
	return complete
}

// Place is where a pod is.
type Place struct {
	Node *cluster.Node // with the pod, and with what is planned by then
	// Against returns the objections of the predicates to the pod, if it came there now.
	Against func() []predicates.Objection
}

// Relocate plans other places for all the pods it can of those to leave their nodes, the pods of the first
// wishes first. Each gets the place that the scores of its profile prefer, among the places with room; only
// where there is none others are moved, as for a pending pod of its priority. Whether the predicates allow its
// present place does not matter. A gang leaves as a whole, if any pod of it is to leave. There should be one
// wish for a pod: of several the first counts.
func (p *Problem) Relocate(wishes []Wish) *Plan {
	s := newSearch(p, nil)
	departures := newDepartures(s, wishes)
	return s.author.plan(s.solve(departures.grantAll, departures.giveUp), departures.wishes)
}
