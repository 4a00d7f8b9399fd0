package planner

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
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

// purposes tell what items move for.
type purposes struct {
	*state

	roster *roster
	queue  *queue
}

// serves reports whether an item moves for a pod of at least that priority, or for itself. A gang moves for
// every pod that any of its pods moves for.
func (p *purposes) serves(at int32, highest map[int32]int32, least int32) bool {
	return p.roster.wished(&p.items[at]) || slices.ContainsFunc(p.roster.units[p.items[at].unit].items, func(member int32) bool {
		priority, some := highest[p.items[member].origin]
		return some && priority >= least
	})
}

// beneficiaries returns, by the nodes that others leave for that, the highest priorities that room is made for
// in the end.
func (p *purposes) beneficiaries() map[int32]int32 {
	highest, changed := map[int32]int32{}, true
	raise := func(node, priority int32) {
		if known, some := highest[node]; !some || known < priority {
			highest[node], changed = priority, true
		}
	}
	for node, closed := range p.closed {
		if closed {
			raise(int32(node), math.MaxInt32)
		}
	}
	for g := range p.queue.groups {
		for _, at := range p.queue.groups[g].items {
			if i := &p.items[at]; i.at >= 0 {
				raise(i.at, i.limit)
			}
		}
	}
	for _, at := range p.gone {
		if i := &p.items[at]; i.at >= 0 && p.roster.wished(i) {
			raise(i.at, i.limit)
		}
	}
	for changed {
		changed = false
		for _, at := range p.gone {
			if priority, some := highest[p.items[at].origin]; some && p.items[at].at >= 0 {
				raise(p.items[at].at, priority)
			}
		}
	}
	return highest
}

// wake is all that items move for.
type wake struct {
	pending sets.Set[int32] // items
	leaving sets.Set[int32] // items with a wish
	nodes   sets.Set[int32] // that others leave
}

// wakeOf returns what items move for, directly or by way of others.
func (p *purposes) wakeOf(items ...int32) wake {
	w := wake{pending: sets.New[int32](), leaving: sets.New[int32](), nodes: sets.New[int32]()}
	for _, at := range items {
		p.follow(at, w)
	}
	return w
}

func (p *purposes) follow(at int32, w wake) {
	i := &p.items[at]
	if i.pending() {
		w.pending.Insert(at)
		return
	}
	for _, member := range p.roster.units[i.unit].items {
		if p.items[member].wish != nil {
			w.leaving.Insert(member)
		}
		node := p.items[member].origin
		if w.nodes.Has(node) {
			continue
		}
		w.nodes.Insert(node)
		for _, other := range p.on[node] {
			if o := &p.items[other]; o.pending() || o.away() {
				p.follow(other, w)
			}
		}
	}
}

// savings bring pods home that need not move after all.
type savings struct {
	*state

	homes    *homes
	purposes *purposes
}

// letStay lets pods stay that need not move after all, the dearest first.
func (s *savings) letStay() {
	for stayed := true; stayed; {
		stayed = false
		away := slices.Clone(s.gone)
		slices.SortFunc(away, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.items[b].cost, s.items[a].cost), cmp.Compare(a, b))
		})
		for _, at := range away {
			stayed = s.items[at].away() && s.homes.bringHome(s.items[at].unit) || stayed
		}
	}
	s.dissolve()
}

// dissolve brings home all pods that move for each other and nobody else. Every pod that came to a node that
// they left is one of them, so that there is room.
func (s *savings) dissolve() {
	highest := s.purposes.beneficiaries()
	var idle []int32
	for _, at := range s.gone {
		if s.items[at].at >= 0 && !s.purposes.serves(at, highest, math.MinInt32) {
			idle = append(idle, at)
		}
	}
	slices.Sort(idle)
	for _, at := range idle {
		s.move(at, -1)
	}
	for _, at := range idle {
		s.move(at, s.items[at].origin)
	}
}
