package planner

import (
	"cmp"
	"slices"
)

// insertion finds places for items, and moves others out of the way for them.
type insertion struct {
	*state

	roster    *roster
	homes     *homes
	evictions *evictions
	dice      *dice
	watch     *stopwatch
	hops      int
}

// insert finds a place for an item that has none, and moves others for it if it must. An
// eviction may call for another one up to depth times in a row. It changes nothing when it
// reports false.
func (n *insertion) insert(at int32, depth int, limit int32) bool {
	if node := n.homes.home(at); node >= 0 {
		n.move(at, node)
		return true
	}
	if n.items[at].pending() {
		if node := n.homes.later(at); node >= 0 {
			n.move(at, node)
			return true
		}
	}
	if depth == 0 {
		return false
	}
	for _, nodes := range n.byDeficit(&n.items[at]) {
		found := n.allOpenings(at, nodes, depth, limit)
		for _, v := range found[:min(len(found), tries(depth, n.hops))] {
			before := len(n.log)
			if n.displace(at, v, depth, limit) {
				return true
			}
			n.back(before)
			if n.watch.past() {
				return false
			}
		}
	}
	return false
}

// tries returns how many sets of victims are tried for a pod: many for the first in a chain, few
// for later ones.
func tries(depth, hops int) int {
	if depth == hops {
		return 32
	}
	return 4
}

// allOpenings returns the openings of several nodes, the cheapest first. The pods that leave may call for at
// most depth evictions in a row, less their own.
func (n *insertion) allOpenings(at int32, nodes []int32, depth int, limit int32) []victims {
	var found []victims
	var r refuges
	if depth == 1 {
		r = refuges{}
	}
	for _, node := range nodes {
		if n.dice.pass() {
			continue
		}
		found = append(found, n.evictions.openings(&n.items[at], node, limit, r)...)
	}
	slices.SortStableFunc(found, func(a, b victims) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.size, b.size))
	})
	return found
}

// displace puts an item in the place of victims and finds new places for those.
func (n *insertion) displace(at int32, v victims, depth int, limit int32) bool {
	var ejected []int32
	for _, unit := range v.units {
		if !n.eject(unit, limit, &ejected) {
			return false
		}
	}
	if !n.homes.admits(&n.items[at], v.node) { // one of its kind is among the victims
		return false
	}
	n.move(at, v.node)
	n.items[at].pinned = true
	defer func() { n.items[at].pinned = false }()
	return n.placeAll(ejected, depth-1, limit)
}

// eject takes all items of a unit off their nodes. When it reports false, it may have taken some.
func (n *insertion) eject(unit int32, limit int32, ejected *[]int32) bool {
	if !n.roster.movable(unit, limit) {
		return false
	}
	for _, member := range n.roster.units[unit].items {
		n.move(member, -1)
		*ejected = append(*ejected, member)
		if n.ledger.overdrawn(n.items[member].accounts) {
			return false // each may go, but not all of them
		}
	}
	return true
}

// placeAll finds places for all of these items, the largest first.
func (n *insertion) placeAll(items []int32, depth int, limit int32) bool {
	slices.SortStableFunc(items, func(a, b int32) int { return cmp.Compare(n.items[b].size, n.items[a].size) })
	for _, at := range items {
		if n.items[at].at < 0 && !n.insert(at, depth, limit) {
			return false
		}
	}
	return true
}
