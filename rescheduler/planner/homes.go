package planner

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
type refuges map[int32][]int32

// finds reports whether a unit may find a place elsewhere, as far as room goes: one without which it cannot
// leave. Nil refuges stand for others moving out of its way, which may be so for gangs too, whose members make
// room for one another.
func (h *homes) finds(at int32, r refuges) bool {
	u := &h.roster.units[at]
	if r == nil || len(u.items) > 1 {
		return true
	}
	i := &h.items[u.items[0]]
	if i.away() && h.mayStay(u.items[0]) {
		return true
	}
	h.standings.kinds.kindOf(i)
	nodes, known := r[i.kind]
	if !known || h.load != nil {
		nodes = h.refugesOf(i)
		r[i.kind] = nodes
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
