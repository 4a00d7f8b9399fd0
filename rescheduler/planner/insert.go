package planner

import (
	"cmp"
	"slices"
)

// insert finds a place for an item that has none, and moves others for it if it must. An
// eviction may call for another one up to depth times in a row. It changes nothing when it
// says false.
func (s *search) insert(at int32, depth int, limit int32) bool {
	if node := s.home(at); node >= 0 {
		s.move(at, node)
		return true
	}
	if depth == 0 {
		return false
	}
	for _, nodes := range s.byDeficit(&s.items[at]) {
		found := s.allOpenings(at, nodes, depth, limit)
		for _, v := range found[:min(len(found), tries(depth, s.limits.Hops))] {
			before := len(s.log)
			if s.displace(at, v, depth, limit) {
				return true
			}
			s.back(before)
			if s.past() {
				return false
			}
		}
	}
	return false
}

// tries is how many sets of victims are tried for a pod: many for the first in a chain, few
// for later ones.
func tries(depth, hops int) int {
	if depth == hops {
		return 32
	}
	return 4
}

// allOpenings are those of several nodes, the cheapest first. Those who leave may call for as
// many evictions in a row as depth says, less their own.
func (s *search) allOpenings(at int32, nodes []int32, depth int, limit int32) []victims {
	var found []victims
	var r refuges
	if depth == 1 {
		r = refuges{}
	}
	for _, node := range nodes {
		if s.noise > 0 && s.random.Float64() < s.noise {
			continue
		}
		found = append(found, s.openings(&s.items[at], node, limit, r)...)
	}
	slices.SortStableFunc(found, func(a, b victims) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.size, b.size))
	})
	return found
}

// displace puts an item in the place of victims and finds new places for those.
func (s *search) displace(at int32, v victims, depth int, limit int32) bool {
	var ejected []int32
	for _, unit := range v.units {
		if !s.eject(unit, limit, &ejected) {
			return false
		}
	}
	if !s.admits(&s.items[at], v.node) { // one of its kind is among the victims
		return false
	}
	s.move(at, v.node)
	s.items[at].pinned = true
	defer func() { s.items[at].pinned = false }()
	return s.settle(ejected, depth-1, limit)
}

// eject takes all items of a unit off their nodes. When it says false, it may have taken some.
func (s *search) eject(unit int32, limit int32, ejected *[]int32) bool {
	if !s.movable(unit, limit) {
		return false
	}
	for _, member := range s.units[unit].items {
		s.move(member, -1)
		*ejected = append(*ejected, member)
		if s.ledger.overdrawn(s.items[member].accounts) {
			return false // each may go, but not all of them
		}
	}
	return true
}

// settle finds places for all of these items, the largest first.
func (s *search) settle(items []int32, depth int, limit int32) bool {
	slices.SortStableFunc(items, func(a, b int32) int { return cmp.Compare(s.items[b].size, s.items[a].size) })
	for _, at := range items {
		if s.items[at].at < 0 && !s.insert(at, depth, limit) {
			return false
		}
	}
	return true
}

// windows are how many nodes are looked at before more are: a good place is mostly among
// those that lack the least.
var windows = [...]int{64, 512, 4096, 1 << 30} //nolint:gochecknoglobals // a constant

// byDeficit are the nodes that could take an item if others left, in parts, those that lack
// the least first.
func (s *search) byDeficit(i *item) [][]int32 {
	type deficit struct {
		node int32
		size float64
	}
	var deficits []deficit
	lacks := make(amounts, s.dims)
	for _, node := range s.nodes {
		if s.closed[node] || node == i.origin || !i.needs.fitsInto(s.capacityAt(node)) {
			continue
		}
		i.needs.short(s.freeAt(node), lacks)
		deficits = append(deficits, deficit{node, s.rates.size(lacks)})
	}
	slices.SortStableFunc(deficits, func(a, b deficit) int { return cmp.Compare(a.size, b.size) })
	var parts [][]int32
	for _, window := range windows {
		part := deficits[:min(window, len(deficits))]
		if len(part) == 0 {
			break
		}
		nodes := make([]int32, len(part))
		for n, d := range part {
			nodes[n] = d.node
		}
		parts, deficits = append(parts, nodes), deficits[len(part):]
	}
	return parts
}
