package planner

import (
	"cmp"
	"math"
	"slices"
)

// placing finds places for all groups: one after the other at first, and then by taking parts of the result
// back and building them again.
type placing struct {
	*state

	queue     *queue
	insertion *insertion
	savings   *savings
	audit     *audit
	dice      *dice
	watch     *stopwatch
	limits    Limits
}

// construct finds places for the groups one after the other, the most important ones and
// the small ones first.
func (p *placing) construct() {
	order := make([]int, len(p.queue.groups))
	for i := range order {
		order[i] = i
	}
	size := func(at int) float64 {
		total := 0.0
		for _, item := range p.queue.groups[at].items {
			total += p.items[item].size
		}
		return total
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.queue.groups[a].rank, p.queue.groups[b].rank), cmp.Compare(size(a), size(b)))
	})
	for _, at := range order {
		before := len(p.log)
		if p.placeGroup(&p.queue.groups[at]); len(p.log) == before {
			continue
		}
		p.savings.letStay()
		if _, ok := p.audit.sound(); !ok {
			p.back(before)
		}
	}
}

// placeGroup finds places for all members of a group that have none, or for none of them.
func (p *placing) placeGroup(g *group) {
	if g.givenUp {
		return
	}
	before := len(p.log)
	for _, at := range g.items {
		if p.items[at].at >= 0 {
			continue
		}
		for depth := 1; depth <= p.limits.Hops && !p.insertion.insert(at, depth, p.items[at].limit); depth++ {
			if p.watch.past() {
				break
			}
		}
	}
	if p.queue.count(g) < g.AtLeast {
		p.back(before)
	}
}

// improve takes parts of the result back and builds them again, as long as that pays.
func (p *placing) improve() {
	best, at := p.queue.score(), p.positions()
	present := best
	defer func() { p.dice.noise = 0 }()
	p.dice.noise = 0.1
	pool := p.pool()
	for idle := 0; idle < p.limits.Patience && !p.done(best) && len(pool) > 0 && !p.watch.past(); idle++ {
		before := len(p.log)
		p.recreate(p.ruin(pool))
		next := p.queue.score()
		warmth := float64(p.limits.Patience-idle) / float64(p.limits.Patience) * plainCost
		if d := next.compare(present); d < 0 && (slices.Compare(next.placed, present.placed) < 0 ||
			float64(next.cost-present.cost) > -warmth*math.Log(1-p.dice.Float64())) {
			p.back(before)
			continue
		}
		present = next
		if next.compare(best) <= 0 {
			continue
		}
		if _, ok := p.audit.sound(); ok {
			best, at, idle = next, p.positions(), 0
		}
	}
	p.restore(at)
}

// done reports whether nothing can be better.
func (p *placing) done(best score) bool {
	placed := 0
	for _, n := range best.placed {
		placed += n
	}
	return placed == p.queue.wanted() && len(p.gone) <= 1
}

// pool returns the nodes on which to look for something better.
func (p *placing) pool() []int32 {
	const small = 128
	if len(p.nodes) <= small {
		return p.nodes
	}
	var pool []int32
	for i := range p.queue.groups {
		if p.queue.count(&p.queue.groups[i]) == len(p.queue.groups[i].items) || len(pool) > small {
			continue
		}
		if parts := p.byDeficit(&p.items[p.queue.groups[i].items[0]]); len(parts) > 0 {
			pool = append(pool, parts[0][:min(len(parts[0]), 16)]...)
		}
	}
	for _, at := range p.gone {
		pool = append(pool, p.items[at].origin)
	}
	slices.Sort(pool)
	return slices.Compact(pool)
}

// ruin takes back what was planned about a few nodes, and returns the evicted pods that have
// lost their place, some of them twice.
func (p *placing) ruin(pool []int32) []int32 {
	var ejected []int32
	for range 1 + p.dice.IntN(3) {
		node := pool[p.dice.IntN(len(pool))]
		for _, at := range slices.Clone(p.on[node]) {
			switch i := &p.items[at]; {
			case i.at != node: // gone with its group
			case i.pending():
				p.queue.withdraw(&p.queue.groups[i.group])
			case i.away():
				ejected = append(ejected, at)
			}
		}
		for _, at := range p.gone {
			if p.items[at].origin == node {
				ejected = append(ejected, at)
			}
		}
	}
	for _, at := range ejected {
		if p.items[at].at >= 0 {
			p.move(at, -1)
		}
	}
	return ejected
}

// recreate finds places for all that have none. If a pod that was evicted gets none, the
// score is the worst there is.
func (p *placing) recreate(stray []int32) {
	slices.Sort(stray)
	stray = slices.Compact(stray)
	p.dice.Shuffle(len(stray), func(i, j int) { stray[i], stray[j] = stray[j], stray[i] })
	for _, at := range stray {
		i := &p.items[at]
		if i.at < 0 && !p.insertion.insert(at, p.limits.Hops-1, i.limit) {
			for g := range p.queue.groups {
				p.queue.withdraw(&p.queue.groups[g])
			}
			return
		}
	}
	for _, at := range p.dice.Perm(len(p.queue.groups)) {
		if g := &p.queue.groups[at]; p.queue.count(g) < len(g.items) {
			p.placeGroup(g)
		}
	}
	p.savings.letStay()
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
