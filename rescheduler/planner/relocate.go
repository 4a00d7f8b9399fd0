package planner

import (
	"math"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Wish is that a pod leaves its node. Pods for which there is one are the reason of a plan, as
// pending pods are for MakeRoom.
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

// Place is where a pod is.
type Place struct {
	Node *cluster.Node // with the pod, and with what is planned by then
	// Against is what the predicates would have against the pod, if it came there now.
	Against func() []predicates.Objection
}

// Relocate plans other places for pods that are to leave their nodes, as many as can be, those
// of the first wishes first. Each gets the place that the scores of its profile prefer, of
// those with room; only where there is none others are moved, as for a pending pod of its
// priority. Whether its present place is one by the predicates does not matter. A gang leaves
// as a whole, if any pod of it is to leave. There should be one wish for a pod: of several the
// first counts.
func (p *Problem) Relocate(wishes []Wish) *Plan {
	s := newSearch(p)
	s.wish(wishes)
	proven := s.solve(s.grantAll)
	return s.plan(proven)
}

// wish is a Wish in the search.
type wish struct {
	*Wish
	item    int32  // -1 when the pod may not be moved
	fixed   string // why it may not
	open    bool   // it was its turn, and the pod is to leave
	moot    bool   // it was its turn, and the pod may stay
	givenUp bool   // nothing that was planned for it could be proven
}

// wish looks up the items of all that are to leave.
func (s *search) wish(wishes []Wish) {
	for at := range wishes {
		w := &wish{Wish: &wishes[at], item: -1}
		s.wishes = append(s.wishes, w)
		node := s.problem.Snapshot.NodeByName(w.Pod.Spec.NodeName)
		if node == nil {
			w.fixed = ReasonNotBound
			continue
		}
		s.load(node.Index)
		for _, item := range s.on[node.Index] {
			if i := &s.items[item]; i.pod.UID == w.Pod.UID {
				w.item = item
				if i.wish == nil {
					i.wish = w
				}
			}
		}
		if w.item < 0 {
			w.fixed = s.fixed(spot{w.Pod, node.Index})
		}
	}
}

// fixed is why a pod is no item.
func (s *search) fixed(at spot) string {
	if _, reason := s.judge(at); reason != "" {
		return reason
	}
	return ReasonGang
}

// grantAll grants as many wishes as it can. What one pod leaves may be room for another, so it
// goes on until none is granted any more.
func (s *search) grantAll() {
	for _, w := range s.wishes {
		w.open, w.moot = false, false // by an attempt before this one
	}
	for granted := true; granted; {
		granted = false
		for _, w := range s.wishes {
			if w.item < 0 || w.givenUp || s.items[w.item].away() || s.past() {
				continue
			}
			w.open = w.While == nil || w.While(s.place(w.item))
			w.moot = !w.open
			granted = w.open && s.grant(w.item) || granted
		}
	}
}

// place is where an item is, with all that is planned so far.
func (s *search) place(at int32) Place {
	i := &s.items[at]
	before := s.world.Moves()
	defer func() { s.world.Undo(before) }()
	s.carryOut()
	return Place{Node: s.world.Node(i.at), Against: func() []predicates.Objection {
		before := s.world.Moves()
		defer func() { s.world.Undo(before) }()
		s.carryOut()
		return s.kindOf(i).judge(s.world).Against(i.pod, i.at)
	}}
}

// grant finds another place for an item and all of its unit, with as few moves in a row as can
// be. It changes nothing when it says false.
func (s *search) grant(at int32) bool {
	before, unit := len(s.log), s.items[at].unit
	for depth := range s.limits.Hops {
		var ejected []int32
		if s.eject(unit, math.MaxInt32, &ejected) && s.settle(ejected, depth, s.items[at].limit) {
			s.letStay()
			if _, ok := s.sound(); ok {
				return true
			}
		}
		s.back(before)
	}
	return false
}

// wished says that an item moves because it, or one of its gang, is to leave its node.
func (s *search) wished(i *item) bool {
	if i.pending() || len(s.wishes) == 0 {
		return false
	}
	for _, member := range s.units[i.unit].items {
		if s.items[member].isToLeave() {
			return true
		}
	}
	return false
}

// favourite is the node with room that the scores of its profile prefer for an item, with all
// that is planned so far; -1 when there is none.
func (s *search) favourite(at int32) int32 {
	i := &s.items[at]
	var nodes []int32
	for _, node := range s.nodes {
		if !s.closed[node] && i.needs.fitsInto(s.freeAt(node)) && s.admits(i, node) && s.standingAt(i, node) != never {
			nodes = append(nodes, node)
		}
	}
	before := s.world.Moves()
	defer func() { s.world.Undo(before) }()
	s.carryOut()
	k := s.kindOf(i)
	judgement := k.profile.Judge(k.pod, s.problem.Snapshot)
	for node := range s.world.Changed() {
		judgement.Suppose(node)
	}
	nodes = slices.DeleteFunc(nodes, func(index int32) bool {
		node := s.world.Node(index)
		return !s.eligible(i, node) || judgement.Verdict(node) != predicates.Fits
	})
	totals := make([]int64, len(nodes))
	judgement.Rank(nodes, totals)
	best := int32(-1)
	for n, highest := 0, int64(-1); n < len(nodes); n++ {
		if totals[n] > highest {
			best, highest = nodes[n], totals[n]
		}
	}
	return best
}

// carryOut brings all that is away to where it is planned, in the world.
func (s *search) carryOut() {
	for _, at := range s.gone {
		i := &s.items[at]
		s.world.Take(i.pod, i.origin)
		if i.at >= 0 {
			s.world.Put(s.anew(i), i.at)
		}
	}
}
