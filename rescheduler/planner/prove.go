package planner

import (
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// prove carries a sequence out on the model of the cluster with all predicates. It returns
// the order in which that works, and the items that would have to come to nodes which do
// not take them.
func (s *search) prove(order []int32) (proven, objected []int32) {
	before := s.world.Moves()
	defer func() { s.world.Undo(before) }()
	leaving := map[int32]int{}
	for _, at := range s.gone {
		leaving[s.items[at].origin]++
	}
	left := slices.Clone(order)
	for len(left) > 0 {
		first := len(proven)
		left = slices.DeleteFunc(left, func(at int32) bool {
			i := &s.items[at]
			if i.pending() && leaving[i.at] > 0 || s.come(i) != nothing {
				return false
			}
			if !i.pending() {
				leaving[i.origin]--
			}
			proven = append(proven, at)
			return true
		})
		if len(proven) == first {
			return proven, s.objected(left)
		}
	}
	return proven, nil
}

// objection is what is against an item that comes to its node.
type objection uint8

const (
	nothing objection = iota
	lacksRoom
	another
)

// come has an item come to its node in the world. When something is against it, it stays where
// it was.
func (s *search) come(i *item) objection {
	before := s.world.Moves()
	if !i.pending() {
		s.world.Take(i.pod, i.origin)
	}
	verdict := s.kindOf(i).judge(s.world).Verdict(i.at)
	switch {
	case verdict.OfRoom():
		s.world.Undo(before)
		return lacksRoom
	case verdict != predicates.Fits || !s.eligible(i, s.world.Node(i.at)):
		s.world.Undo(before)
		return another
	}
	s.world.Put(s.anew(i), i.at)
	return nothing
}

// anew is the pod of an item as it is placed anew.
func (s *search) anew(i *item) *cluster.Pod {
	if i.anew == nil {
		i.anew = s.kinds.replacement(i.pod)
	}
	return i.anew
}

// objected are those of the items that something else than room is against, or the first
// when there is none.
func (s *search) objected(left []int32) []int32 {
	var objected []int32
	for _, at := range left {
		before := s.world.Moves()
		if s.come(&s.items[at]) == another {
			objected = append(objected, at)
		}
		s.world.Undo(before)
	}
	if len(objected) == 0 {
		return left[:1]
	}
	return objected
}
