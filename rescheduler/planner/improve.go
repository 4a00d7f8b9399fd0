package planner

import (
	"cmp"
	"math"
	"slices"
)

// admit makes items of pending pods.
func (s *search) admit(groups []Group) {
	priorities := []int32{}
	for i := range groups {
		priorities = append(priorities, groups[i].priority())
	}
	slices.SortFunc(priorities, func(a, b int32) int { return cmp.Compare(b, a) })
	priorities = slices.Compact(priorities)
	for at := range groups {
		g := group{Group: &groups[at], rank: slices.Index(priorities, groups[at].priority())}
		for _, pod := range g.Pods {
			g.items = append(g.items, s.addPending(pod, int32(at)))
		}
		s.groups = append(s.groups, g)
	}
	s.ranks = len(priorities)
}

// score is how good a state is.
type score struct {
	placed []int // pending pods by rank
	cost   int64
}

// compare is more than 0 when a score is the better one.
func (a score) compare(b score) int {
	return cmp.Or(slices.Compare(a.placed, b.placed), cmp.Compare(b.cost, a.cost))
}

func (s *search) score() score {
	result := score{placed: make([]int, s.ranks), cost: s.cost}
	for i := range s.groups {
		result.placed[s.groups[i].rank] += s.count(&s.groups[i])
	}
	return result
}

// count is how many pods of a group have a place.
func (s *search) count(g *group) int {
	placed := 0
	for _, at := range g.items {
		if s.items[at].at >= 0 {
			placed++
		}
	}
	return placed
}

// construct finds places for the groups one after the other, the most important ones and
// the small ones first.
func (s *search) construct() {
	order := make([]int, len(s.groups))
	for i := range order {
		order[i] = i
	}
	size := func(at int) float64 {
		total := 0.0
		for _, item := range s.groups[at].items {
			total += s.items[item].size
		}
		return total
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.groups[a].rank, s.groups[b].rank), cmp.Compare(size(a), size(b)))
	})
	for _, at := range order {
		before := len(s.log)
		if s.placeGroup(&s.groups[at]); len(s.log) == before {
			continue
		}
		s.letStay()
		if _, ok := s.sound(); !ok {
			s.back(before)
		}
	}
}

// placeGroup finds places for those of a group that have none, or for none of them.
func (s *search) placeGroup(g *group) {
	if g.givenUp {
		return
	}
	before := len(s.log)
	for _, at := range g.items {
		if s.items[at].at >= 0 {
			continue
		}
		for depth := 1; depth <= s.limits.Hops && !s.insert(at, depth, s.items[at].limit); depth++ {
			if s.past() {
				break
			}
		}
	}
	if s.count(g) < g.AtLeast {
		s.back(before)
	}
}

// letStay lets pods stay that need not move after all, the dearest first.
func (s *search) letStay() {
	for stayed := true; stayed; {
		stayed = false
		away := slices.Clone(s.gone)
		slices.SortFunc(away, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.items[b].cost, s.items[a].cost), cmp.Compare(a, b))
		})
		for _, at := range away {
			stayed = s.items[at].away() && s.bringHome(s.items[at].unit) || stayed
		}
	}
	s.dissolve()
}

// dissolve brings home all pods that move for each other and nobody else. Whoever came to a
// node that they left is one of them, so that there is room.
func (s *search) dissolve() {
	highest := s.beneficiaries()
	var idle []int32
	for _, at := range s.gone {
		if s.items[at].at >= 0 && !s.serves(at, highest, math.MinInt32) {
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

// bringHome brings all pods of a unit back to where they were, if all may stay there.
func (s *search) bringHome(unit int32) bool {
	before := len(s.log)
	for _, member := range s.units[unit].items {
		i := &s.items[member]
		if !i.away() {
			continue
		}
		if !s.mayStay(member) {
			s.back(before)
			return false
		}
		s.move(member, i.origin)
	}
	return true
}

// improve takes parts of what was found back and builds them anew, as long as that pays.
func (s *search) improve() {
	best, at := s.score(), s.positions()
	present := best
	defer func() { s.noise = 0 }()
	s.noise = 0.1
	pool := s.pool()
	for idle := 0; idle < s.limits.Patience && !s.done(best) && len(pool) > 0 && !s.past(); idle++ {
		before := len(s.log)
		s.recreate(s.ruin(pool))
		next := s.score()
		warmth := float64(s.limits.Patience-idle) / float64(s.limits.Patience) * plainCost
		if d := next.compare(present); d < 0 && (slices.Compare(next.placed, present.placed) < 0 ||
			float64(next.cost-present.cost) > -warmth*math.Log(1-s.random.Float64())) {
			s.back(before)
			continue
		}
		present = next
		if next.compare(best) <= 0 {
			continue
		}
		if _, ok := s.sound(); ok {
			best, at, idle = next, s.positions(), 0
		}
	}
	s.restore(at)
}

// done says that nothing can be better.
func (s *search) done(best score) bool {
	wanted := 0
	for i := range s.groups {
		if !s.groups[i].givenUp {
			wanted += len(s.groups[i].items)
		}
	}
	placed := 0
	for _, n := range best.placed {
		placed += n
	}
	return placed == wanted && len(s.gone) <= 1
}

// sound says that what the search does not look at holds as well: that there is an order of
// the steps, which it returns, and that nobody is moved for nothing or for those of lower
// priority.
func (s *search) sound() (order []int32, ok bool) {
	if order, ok = s.sequence(); !ok {
		return nil, false
	}
	return order, s.justified()
}

// pool are the nodes on which to look for something better.
func (s *search) pool() []int32 {
	const small = 128
	if len(s.nodes) <= small {
		return s.nodes
	}
	var pool []int32
	for i := range s.groups {
		if s.count(&s.groups[i]) == len(s.groups[i].items) || len(pool) > small {
			continue
		}
		if parts := s.byDeficit(&s.items[s.groups[i].items[0]]); len(parts) > 0 {
			pool = append(pool, parts[0][:min(len(parts[0]), 16)]...)
		}
	}
	for _, at := range s.gone {
		pool = append(pool, s.items[at].origin)
	}
	slices.Sort(pool)
	return slices.Compact(pool)
}

// ruin takes back what was planned about a few nodes, and returns the evicted pods that have
// lost their place, some of them twice.
func (s *search) ruin(pool []int32) []int32 {
	var ejected []int32
	for range 1 + s.random.IntN(3) {
		node := pool[s.random.IntN(len(pool))]
		for _, at := range slices.Clone(s.on[node]) {
			switch i := &s.items[at]; {
			case i.at != node: // gone with its group
			case i.pending():
				s.withdraw(&s.groups[i.group])
			case i.away():
				ejected = append(ejected, at)
			}
		}
		for _, at := range s.gone {
			if s.items[at].origin == node {
				ejected = append(ejected, at)
			}
		}
	}
	for _, at := range ejected {
		if s.items[at].at >= 0 {
			s.move(at, -1)
		}
	}
	return ejected
}

// withdraw takes the places of a group back.
func (s *search) withdraw(g *group) {
	for _, at := range g.items {
		if s.items[at].at >= 0 {
			s.move(at, -1)
		}
	}
}

// recreate finds places for all that have none. If a pod that was evicted gets none, the
// score is the worst there is.
func (s *search) recreate(stray []int32) {
	slices.Sort(stray)
	stray = slices.Compact(stray)
	s.random.Shuffle(len(stray), func(i, j int) { stray[i], stray[j] = stray[j], stray[i] })
	for _, at := range stray {
		i := &s.items[at]
		if i.at < 0 && !s.insert(at, s.limits.Hops-1, i.limit) {
			for g := range s.groups {
				s.withdraw(&s.groups[g])
			}
			return
		}
	}
	for _, at := range s.random.Perm(len(s.groups)) {
		if g := &s.groups[at]; s.count(g) < len(g.items) {
			s.placeGroup(g)
		}
	}
	s.letStay()
}

// positions are where all items are.
func (s *search) positions() map[int32]int32 {
	at := map[int32]int32{}
	for i := range s.items {
		if item := &s.items[i]; item.pending() || item.away() {
			at[int32(i)] = item.at
		}
	}
	return at
}

// restore brings all items back to where they were.
func (s *search) restore(at map[int32]int32) {
	for i := range s.items {
		item := &s.items[i]
		to, known := at[int32(i)]
		if !known {
			to = item.origin
		}
		if item.at != to {
			s.move(int32(i), to)
		}
	}
}
