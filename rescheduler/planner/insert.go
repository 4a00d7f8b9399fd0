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
	finds := func(int32) bool { return true } // others may move out of its way
	if depth == 1 {
		finds = (&refuges{homes: n.homes, ofKind: map[int32][]int32{}}).finds
	}
	for _, node := range nodes {
		if n.dice.pass() {
			continue
		}
		found = append(found, n.evictions.openings(&n.items[at], node, limit, finds)...)
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

// homes finds places for items where there is room already.
type homes struct {
	*state

	roster    *roster
	standings *standings
	rehearsal *rehearsal
	dice      *dice
	hops      int
}

// home returns the node with room that suits an item best: the one on which the least is left over, so that
// large room stays large; for one that is to leave its node, the one that the scores prefer. It is -1 when
// there is none. A pod goes back to where it was if it can.
func (h *homes) home(at int32) int32 {
	i := &h.items[at]
	if i.origin >= 0 && h.homecoming(at) {
		return i.origin
	}
	if h.roster.wished(i) {
		return h.favourite(i)
	}
	h.standings.kinds.kindOf(i)
	best, least := int32(-1), 0.0
	for _, node := range h.nodes {
		free := h.freeAt(node)
		if h.closed[node] || !i.needs.fitsInto(free) {
			continue
		}
		rest := h.rates.rest(free, i.needs)
		if best >= 0 && rest >= least || !h.admits(i, node) || h.standings.of(i, node) != open {
			continue
		}
		if h.dice.pass() {
			continue
		}
		best, least = node, rest
	}
	return best
}

// favourite returns the node with room that the scores prefer for an item; -1 when there is none.
func (h *homes) favourite(i *item) int32 {
	var nodes []int32
	for _, node := range h.nodes {
		if !h.closed[node] && i.needs.fitsInto(h.freeAt(node)) && h.admits(i, node) && h.standings.of(i, node) != never {
			nodes = append(nodes, node)
		}
	}
	return h.rehearsal.favourite(i, nodes)
}

// homecoming reports whether a pod may stay where it was after all.
func (h *homes) homecoming(at int32) bool {
	i := &h.items[at]
	for _, other := range h.roster.units[i.unit].items { // a gang moves whole or not at all
		if other != at && h.items[other].away() {
			return false
		}
	}
	return h.mayStay(at)
}

// mayStay reports whether nobody wants a pod to leave, there is still room for it where it was, and nobody
// came there who does not bear with it.
func (h *homes) mayStay(at int32) bool {
	i := &h.items[at]
	if h.roster.wished(i) || h.closed[i.origin] || !i.needs.fitsInto(h.laterAt(i.origin)) {
		return false
	}
	for _, other := range h.on[i.origin] {
		if o := &h.items[other]; o.origin != i.origin && h.standings.blocks(at, o, i.origin) {
			return false
		}
	}
	return true
}

// bringHome brings all pods of a unit back to where they were, if all may stay there.
func (h *homes) bringHome(unit int32) bool {
	before := len(h.log)
	for _, member := range h.roster.units[unit].items {
		i := &h.items[member]
		if !i.away() {
			continue
		}
		if !h.mayStay(member) {
			h.back(before)
			return false
		}
		h.move(member, i.origin)
	}
	return true
}

// admits reports whether a pod may go to another node as far as other moves go, and by what the problem and
// wishes bar.
func (h *homes) admits(i *item, node int32) bool {
	if i.origin >= 0 {
		if node == i.origin || h.left[place{i.kind, node}] > 0 {
			return false // one of its kind leaves that node
		}
		if h.hops == 1 && !i.needs.fitsInto(h.spareAt(node)) {
			return false
		}
	}
	return h.rehearsal.eligible(i, h.rehearsal.world.Node(node))
}

// refuges are nodes with room for pods that nobody else may move for: three for each kind, or fewer if there
// are no more. They hold for as long as nothing moves. Pods of a kind ask for the same, but may put different
// loads on nodes: where that matters, nothing is remembered.
type refuges struct {
	homes  *homes
	ofKind map[int32][]int32
}

// finds reports whether a unit may find a place elsewhere, as far as room goes: one without which it cannot
// leave. The members of a gang may, as they make room for one another.
func (r *refuges) finds(at int32) bool {
	h := r.homes
	u := &h.roster.units[at]
	if len(u.items) > 1 {
		return true
	}
	i := &h.items[u.items[0]]
	if i.away() && h.mayStay(u.items[0]) {
		return true
	}
	h.standings.kinds.kindOf(i)
	nodes, known := r.ofKind[i.kind]
	if !known || h.load.Amounts > 0 {
		nodes = h.refugesOf(i)
		r.ofKind[i.kind] = nodes
	}
	for _, node := range nodes {
		if node != i.at && node != i.origin {
			return true
		}
	}
	return false
}

// refugesOf returns the first three nodes with room for pods of the kind of an item. Three, because a pod may
// be at one of them and have come from another.
func (h *homes) refugesOf(i *item) []int32 {
	var nodes []int32
	for _, node := range h.nodes {
		if h.closed[node] || h.left[place{i.kind, node}] > 0 || !i.needs.fitsInto(h.freeAt(node)) ||
			h.hops == 1 && !i.needs.fitsInto(h.spareAt(node)) {
			continue
		}
		if nodes = append(nodes, node); len(nodes) == 3 {
			break
		}
	}
	return nodes
}
