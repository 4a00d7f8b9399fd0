package planner

import "slices"

// evictions works out who would have to leave a node.
type evictions struct {
	*state

	roster    *roster
	homes     *homes
	standings *standings
	dice      *dice
}

// openings returns the cheapest sets of victims on a node for an item, the best first: none when the item would
// not fit whatever left. With refuges, only pods that have one leave.
func (e *evictions) openings(i *item, node int32, limit int32, r refuges) []victims {
	e.roster.kinds.kindOf(i)
	if e.closed[node] || node == i.origin || !e.homes.admits(i, node) {
		return nil
	}
	e.roster.load(node)
	must, possible := e.standings.obstacles(i, node)
	if !possible {
		return nil
	}
	lacks := make(amounts, e.dims)
	i.needs.short(e.freeAt(node), lacks)
	c := chooser{node: node, lacks: lacks}
	for _, at := range must {
		if o := &e.items[at]; o.at == node {
			if !e.roster.movable(o.unit, limit) || !e.homes.finds(o.unit, r) {
				return nil
			}
			c.take(e.candidate(o.unit, node, lacks))
		}
	}
	e.consider(&c, limit, r)
	return c.choose()
}

// consider makes candidates of the items whose leaving gains anything.
func (e *evictions) consider(c *chooser, limit int32, r refuges) {
	for _, at := range e.on[c.node] {
		o := &e.items[at]
		if o.pending() || slices.Contains(c.units, o.unit) || c.knows(o.unit) || !e.roster.movable(o.unit, limit) {
			continue
		}
		if candidate := e.candidate(o.unit, c.node, c.lacks); candidate.worth > 0 && e.homes.finds(o.unit, r) {
			c.candidates = append(c.candidates, candidate)
		}
	}
}

// candidate makes a candidate of a unit.
func (e *evictions) candidate(at, node int32, lacks amounts) candidate {
	c := candidate{unit: at, gains: make(amounts, e.dims)}
	for _, member := range e.roster.units[at].items {
		i := &e.items[member]
		c.size += i.size
		if !i.away() {
			c.cost += i.cost
		}
		if i.at == node {
			i.needs.gather(c.gains)
		}
	}
	for d, lack := range lacks {
		if c.gains[d] = min(c.gains[d], lack); lack > 0 {
			c.worth += float64(max(0, c.gains[d])) / float64(lack)
		}
	}
	c.cost += e.dice.extra()
	return c
}
