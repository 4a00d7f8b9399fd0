package planner

import (
	"math"
	"slices"
)

// sequence orders the items that come to a node so that each finds room there when those
// before it have moved. It says false when there is no such order, or when more moves hang
// on one another than may.
func (s *search) sequence() ([]int32, bool) {
	var waiting []int32
	for g := range s.groups {
		for _, at := range s.groups[g].items {
			if s.items[at].at >= 0 {
				waiting = append(waiting, at)
			}
		}
	}
	moves := slices.Clone(s.gone)
	slices.Sort(moves)
	const orders = 6
	for try := range orders {
		if order, ok := s.inRounds(moves, waiting); ok {
			return order, true
		}
		if try == 0 {
			slices.Reverse(moves)
			continue
		}
		for at := range moves { // others, the same ones each time
			other := (at*7 + try*3) % len(moves)
			moves[at], moves[other] = moves[other], moves[at]
		}
	}
	return nil, false
}

// inRounds puts into each round what has room after the rounds before it. Pending pods come
// once nobody has to leave their node any more.
func (s *search) inRounds(moves, waiting []int32) (order []int32, ok bool) {
	room, leaving := map[int32][]int64{}, map[int32]int{}
	at := func(node int32) []int64 {
		if room[node] == nil {
			room[node] = slices.Clone(s.initial[int(node)*s.dims : (int(node)+1)*s.dims])
		}
		return room[node]
	}
	for _, move := range moves {
		leaving[s.items[move].origin]++
	}
	moves, waiting = slices.Clone(moves), slices.Clone(waiting)
	come := func() {
		waiting = slices.DeleteFunc(waiting, func(w int32) bool {
			i := &s.items[w]
			if leaving[i.at] > 0 {
				return false
			}
			i.needs.addTo(at(i.at), -1)
			order = append(order, w)
			return true
		})
	}
	come()
	for round := 1; len(moves) > 0; round++ {
		first := len(order)
		moves = slices.DeleteFunc(moves, func(m int32) bool {
			i := &s.items[m]
			if i.at < 0 || !i.needs.fitsInto(at(i.at)) {
				return false
			}
			i.needs.addTo(at(i.at), -1)
			order = append(order, m)
			return true
		})
		if len(order) == first || round > s.limits.Hops {
			return nil, false
		}
		for _, m := range order[first:] {
			i := &s.items[m]
			i.needs.addTo(at(i.origin), +1)
			leaving[i.origin]--
		}
		come()
	}
	return order, true
}

// justified says that each pod that moves does so for one of no lower priority in the end,
// unless the rules allow any.
func (s *search) justified() bool {
	highest := s.beneficiaries()
	return !slices.ContainsFunc(s.gone, func(at int32) bool {
		least := s.items[at].limit
		if s.problem.Rules.AllowHigherPriority {
			least = math.MinInt32
		}
		return !s.serves(at, highest, least)
	})
}

// serves says that an item moves for a pod of at least that priority, or for itself. A gang
// moves for whoever any of its pods moves for.
func (s *search) serves(at int32, highest map[int32]int32, least int32) bool {
	return s.wished(&s.items[at]) || slices.ContainsFunc(s.units[s.items[at].unit].items, func(member int32) bool {
		priority, some := highest[s.items[member].origin]
		return some && priority >= least
	})
}

// beneficiaries are the highest priorities for which room is made, in the end, by the nodes
// that others leave for that.
func (s *search) beneficiaries() map[int32]int32 {
	highest, changed := map[int32]int32{}, true
	raise := func(node, priority int32) {
		if known, some := highest[node]; !some || known < priority {
			highest[node], changed = priority, true
		}
	}
	for node, closed := range s.closed {
		if closed {
			raise(int32(node), math.MaxInt32)
		}
	}
	for g := range s.groups {
		for _, at := range s.groups[g].items {
			if i := &s.items[at]; i.at >= 0 {
				raise(i.at, i.limit)
			}
		}
	}
	for _, at := range s.gone {
		if i := &s.items[at]; i.at >= 0 && s.wished(i) {
			raise(i.at, i.limit)
		}
	}
	for changed {
		changed = false
		for _, at := range s.gone {
			if priority, some := highest[s.items[at].origin]; some && s.items[at].at >= 0 {
				raise(s.items[at].at, priority)
			}
		}
	}
	return highest
}
