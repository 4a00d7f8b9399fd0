package planner

import (
	"slices"

	"muster.dev/muster/cluster"
)

// home is the node with room that suits an item best: the one on which the least is left
// over, so that large room stays large; for one that is to leave its node, the one that the
// scores prefer. It is -1 when there is none. A pod goes back to where it was if it can.
func (s *search) home(at int32) int32 {
	i := &s.items[at]
	if i.origin >= 0 && s.homecoming(at) {
		return i.origin
	}
	if s.wished(i) {
		return s.favourite(at)
	}
	s.kindOf(i)
	best, least := int32(-1), 0.0
	for _, node := range s.nodes {
		free := s.freeAt(node)
		if s.closed[node] || !i.needs.fitsInto(free) {
			continue
		}
		rest := s.rates.rest(free, i.needs)
		if best >= 0 && rest >= least || !s.admits(i, node) || s.standingAt(i, node) != open {
			continue
		}
		if s.noise > 0 && s.random.Float64() < s.noise {
			continue
		}
		best, least = node, rest
	}
	return best
}

// homecoming says that a pod may stay where it was after all.
func (s *search) homecoming(at int32) bool {
	i := &s.items[at]
	for _, other := range s.units[i.unit].items { // a gang moves whole or not at all
		if other != at && s.items[other].away() {
			return false
		}
	}
	return s.mayStay(at)
}

// mayStay says that nobody wants a pod to leave, that there is still room for it where it was,
// and nobody there who came and does not bear with it.
func (s *search) mayStay(at int32) bool {
	i := &s.items[at]
	if s.wished(i) || s.closed[i.origin] || !i.needs.fitsInto(s.freeAt(i.origin)) {
		return false
	}
	for _, other := range s.on[i.origin] {
		if o := &s.items[other]; o.origin != i.origin && slices.Contains(s.blockers[opening{o.kind, o.origin, i.origin}], at) {
			return false
		}
	}
	return true
}

// admits says that a pod may go to another node as far as other moves go, and by what the
// problem and wishes bar.
func (s *search) admits(i *item, node int32) bool {
	if i.origin >= 0 {
		if node == i.origin || s.left[place{i.kind, node}] > 0 {
			return false // one of its kind leaves that node
		}
		if s.limits.Hops == 1 && !i.needs.fitsInto(s.spareAt(node)) {
			return false
		}
	}
	return s.eligible(i, s.world.Node(node))
}

// eligible says that neither the problem bars a pod from a node nor a wish leaves that out.
func (s *search) eligible(i *item, node *cluster.Node) bool {
	if bars := s.problem.Bars; bars != nil && bars(i.pod, s.problem.Snapshot.Node(node.Index)) {
		return false
	}
	if i.wish == nil {
		return true
	}
	return (i.wish.To == nil || i.wish.To(node)) && (i.wish.Worth == nil || i.wish.Worth(s.world.Node(i.origin), node))
}

// standingAt is what speaks against a pod on a node, besides room, as the cluster was
// before the plan, but without that pod. It is remembered.
func (s *search) standingAt(i *item, node int32) standing {
	k := s.kindOf(i)
	if k.profile == nil {
		return never
	}
	k.judge(s.world)
	from := k.from(i)
	row := k.standings[from]
	if row == nil {
		row = make([]standing, len(s.on))
		k.standings[from] = row
		if from >= 0 { // what it says of other nodes hangs on where the pod is
			s.without(i, func() {
				for _, node := range s.nodes {
					row[node] = k.standing(s.world, s.world.Node(node))
				}
			})
		}
	}
	if row[node] == unasked {
		row[node] = k.standing(s.world, s.world.Node(node))
	}
	return row[node]
}

// without does something while a pod is not where it is.
func (s *search) without(i *item, do func()) {
	before := s.world.Moves()
	s.world.Take(i.pod, i.origin)
	do()
	s.world.Undo(before)
}

// opening is a node that could take pods of a kind, those that leave one node or are
// pending, if others were not there.
type opening struct{ kind, from, node int32 }

// obstacles are the items that have to leave a node for another reason than room. It says
// false when that is not enough.
func (s *search) obstacles(i *item, node int32) ([]int32, bool) {
	switch s.standingAt(i, node) {
	case open:
		return nil, true
	case taken:
	default:
		return nil, false
	}
	key := opening{i.kind, i.origin, node}
	found, known := s.blockers[key]
	if !known {
		if i.origin < 0 {
			found = s.findObstacles(i, node)
		} else {
			s.without(i, func() { found = s.findObstacles(i, node) })
		}
		s.blockers[key] = found
	}
	return found, found != nil
}

// findObstacles takes all pods away that may go and gives back as many as it can, the most
// expensive ones first. The result is nil when the pod is not welcome even then.
func (s *search) findObstacles(i *item, node int32) []int32 {
	k := s.kindOf(i)
	before := s.world.Moves()
	defer func() { s.world.Undo(before) }()
	var movable []int32
	for at := range s.items {
		if o := &s.items[at]; o.origin == node {
			movable = append(movable, int32(at))
			s.world.Take(o.pod, node)
		}
	}
	if k.standing(s.world, s.world.Node(node)) != open {
		return nil
	}
	slices.SortStableFunc(movable, func(a, b int32) int { return int(s.items[b].cost - s.items[a].cost) })
	var obstacles []int32
	for _, at := range movable {
		s.world.Put(s.items[at].pod, node)
		if k.standing(s.world, s.world.Node(node)) != open {
			s.world.Take(s.items[at].pod, node)
			obstacles = append(obstacles, at)
		}
	}
	return obstacles
}

// forbid keeps pods of a kind that leave one node, or are pending, off another node.
func (s *search) forbid(i *item, node int32) {
	s.standingAt(i, node)
	k := s.kindOf(i)
	k.standings[k.from(i)][node] = never
}
