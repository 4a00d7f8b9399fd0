package topology

import (
	"cmp"
	"slices"
)

// simple returns the best of the divisions that a rule makes in each candidate, nil if it makes none: pods come to the smallest
// domain that takes all of them, or else to the largest one, and then the rest likewise. It takes no longer than to look at each
// node once, and bounds the search.
func (p *packing) simple(candidates []int32) *Division {
	if p.there[0] > 0 && len(p.ask.Slices) > 0 || p.ask.Pods%p.ask.unit(0) != 0 {
		return nil // slices that others are in may need pods of their own
	}
	var best *Division
	for _, d := range candidates {
		division := &Division{Within: p.tree.domains[d].example, Late: true}
		division.cost = p.fill(d, p.ask.Pods, division).plus(p.above(d))
		if best == nil || division.cost.less(best.cost) {
			best = division
		}
	}
	if best != nil {
		p.tree.sort(best)
	}
	return best
}

// fill divides pods in a domain by the rule, and returns what that costs.
func (p *packing) fill(d int32, pods int, division *Division) cost {
	domain := &p.tree.domains[d]
	c := p.own(d).plus(p.uneven(d, pods))
	if domain.node >= 0 {
		division.Nodes = append(division.Nodes, Share{domain.node, pods})
		return c
	}
	children := slices.DeleteFunc(slices.Clone(domain.children), func(child int32) bool { return p.slots[child] == 0 })
	slices.SortStableFunc(children, func(a, b int32) int {
		return cmp.Or(cmp.Compare(min(1, p.there[b]), min(1, p.there[a])), cmp.Compare(p.slots[b], p.slots[a]))
	})
	takes := p.take(children, pods)
	if domain.level+1 == p.ask.Balanced {
		p.even(takes)
	}
	for _, share := range takes {
		if share.Pods > 0 {
			c = c.plus(p.fill(share.Node, share.Pods, division))
		}
	}
	return c
}

// take returns how many pods come to each of some domains: first come the ones that have some already, then the largest.
func (p *packing) take(domains []int32, pods int) (takes []Share) {
	for at := 0; pods > 0; at++ {
		used, fits := p.there[domains[at]] > 0, at
		for ; fits < len(domains) && p.there[domains[fits]] > 0 == used && int(p.slots[domains[fits]]) >= pods; fits++ {
			if p.slots[domains[fits]] < p.slots[domains[at]] {
				at = fits
			}
		}
		most := min(pods, int(p.slots[domains[at]]))
		takes = append(takes, Share{domains[at], most})
		pods -= most
	}
	return takes
}

// even gives domains the same number of pods, as far as they have room.
func (p *packing) even(takes []Share) {
	pods, unit := 0, p.ask.unit(p.ask.Balanced)
	for i := range takes {
		pods, takes[i].Pods = pods+takes[i].Pods, 0
	}
	for ; pods > 0; pods -= unit {
		least := -1
		has := func(i int) int { return int(p.there[takes[i].Node]) + takes[i].Pods }
		for i, share := range takes {
			if share.Pods < int(p.slots[share.Node]) && (least < 0 || has(i) < has(least)) {
				least = i
			}
		}
		takes[least].Pods += unit
	}
}
