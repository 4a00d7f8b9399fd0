package planner

import (
	"slices"

	"muster.dev/muster/placement/scenario"
)

// standings remember what the predicates have against pods on nodes, besides room, as the cluster was before
// the plan, and which pods would have to leave for that.
type standings struct {
	*state

	world    *scenario.Scenario
	kinds    *kinds
	blockers map[opening][]int32

	afterwards map[place]standing // of pending pods, once others have left by themselves
}

// opening stands for pods of one kind that leave the node from, or are pending (from is negative), and for a node that
// could take them if certain pods there were gone.
type opening struct{ kind, from, node int32 }

// of returns what speaks against a pod on a node, if that pod were not where it is.
func (s *standings) of(i *item, node int32) standing {
	k := s.kinds.kindOf(i)
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

// forbid keeps pods of a kind that leave one node, or are pending, off another node.
func (s *standings) forbid(i *item, node int32) {
	s.of(i, node)
	k := s.kinds.kindOf(i)
	k.standings[k.from(i)][node] = never
	if i.pending() {
		s.afterwards[place{i.kind, node}] = never
	}
}

// without does something while a pod is not where it is.
func (s *standings) without(i *item, do func()) {
	before := s.world.Moves()
	s.world.Take(i.pod, i.origin)
	do()
	s.world.Undo(before)
}

// blocks reports whether an item has to leave its node for another one that came there.
func (s *standings) blocks(at int32, other *item, node int32) bool {
	return slices.Contains(s.blockers[opening{other.kind, other.origin, node}], at)
}

// obstacles returns the items that have to leave a node for another reason than room. It reports false when
// that is not enough.
func (s *standings) obstacles(i *item, node int32) ([]int32, bool) {
	switch s.of(i, node) {
	case open:
		return nil, true
	case taken:
	case never, unasked:
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

// findObstacles takes all pods away that may go, then gives back all it can, the most expensive ones first. The
// result is nil when the pod is not welcome even then.
func (s *standings) findObstacles(i *item, node int32) []int32 {
	k := s.kinds.kindOf(i)
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
