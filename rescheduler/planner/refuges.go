package planner

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
