package planner

import (
	"math"
	"slices"
)

// audit looks at what the search does not: whether what was found may be a plan.
type audit struct {
	*state

	queue    *queue
	purposes *purposes
	rules    *Rules
	hops     int
}

// sound reports whether there is an order of the steps, which it returns, and nobody is moved for nothing or
// for pods of lower priority.
func (a *audit) sound() (order []int32, ok bool) {
	if order, ok = a.sequence(); !ok {
		return nil, false
	}
	return order, a.justified()
}

// sequence orders the items that come to a node so that each finds room there when the items before it have
// moved. It reports false when there is no such order, or when more moves depend on one another than may.
func (a *audit) sequence() ([]int32, bool) {
	var waiting []int32
	for g := range a.queue.groups {
		for _, at := range a.queue.groups[g].items {
			if a.items[at].at >= 0 {
				waiting = append(waiting, at)
			}
		}
	}
	moves := slices.Clone(a.gone)
	slices.Sort(moves)
	const orders = 6
	for try := range orders {
		if order, ok := a.inRounds(moves, waiting); ok {
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
func (a *audit) inRounds(moves, waiting []int32) (order []int32, ok bool) {
	room, leaving := map[int32][]int64{}, map[int32]int{}
	at := func(node int32) []int64 {
		if room[node] == nil {
			room[node] = slices.Clone(a.initial[int(node)*a.dims : (int(node)+1)*a.dims])
		}
		return room[node]
	}
	for _, move := range moves {
		leaving[a.items[move].origin]++
	}
	moves, waiting = slices.Clone(moves), slices.Clone(waiting)
	come := func() {
		waiting = slices.DeleteFunc(waiting, func(w int32) bool {
			i := &a.items[w]
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
			i := &a.items[m]
			if i.at < 0 || !i.needs.fitsInto(at(i.at)) {
				return false
			}
			i.needs.addTo(at(i.at), -1)
			order = append(order, m)
			return true
		})
		if len(order) == first || round > a.hops {
			return nil, false
		}
		for _, m := range order[first:] {
			i := &a.items[m]
			i.needs.addTo(at(i.origin), +1)
			leaving[i.origin]--
		}
		come()
	}
	return order, true
}

// justified reports whether each pod that moves does so for one of no lower priority in the end,
// unless the rules allow any.
func (a *audit) justified() bool {
	highest := a.purposes.beneficiaries()
	return !slices.ContainsFunc(a.gone, func(at int32) bool {
		least := a.items[at].limit
		if a.rules.AllowHigherPriority {
			least = math.MinInt32
		}
		return !a.purposes.serves(at, highest, least)
	})
}
