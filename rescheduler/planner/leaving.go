package planner

import (
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/scenario"
)

// Settled returns a node without the pods that leave it by themselves, as [placement.Leaves] has it: nobody else has to go for
// what they take.
func Settled(node *cluster.Node, now time.Time) *cluster.Node {
	return node.Without(func(pod *cluster.Pod) bool { return placement.Leaves(pod, now) })
}

// leaving are the pods that leave by themselves, and what that will free.
//
// Pods and nodes that wait anyway may count on it: a pending pod that fits then needs no step, a node bears
// what is left on it then, a node with nothing else becomes empty by itself, and a pod that is in the way of
// none that stays need not move. A pod that would be evicted may not count on it: its place has to be there at
// once.
type leaving struct {
	pods  map[int32][]*cluster.Pod // by node index
	frees map[int32]amounts
	nodes []int32 // that have any
}

func leavingOf(p *Problem, r *reckoning) leaving {
	l, now := leaving{pods: map[int32][]*cluster.Pod{}, frees: map[int32]amounts{}}, p.Clock.Now()
	for node := range p.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if !placement.Leaves(pod, now) {
				continue
			}
			if l.frees[node.Index] == nil {
				l.nodes, l.frees[node.Index] = append(l.nodes, node.Index), make(amounts, r.length())
			}
			l.pods[node.Index] = append(l.pods[node.Index], pod)
			r.needs(pod, node).addTo(l.frees[node.Index], +1)
		}
	}
	return l
}

// leaves reports whether a pod leaves its node by itself.
func (l *leaving) leaves(at spot) bool {
	for _, pod := range l.pods[at.node] {
		if pod.UID == at.pod.UID {
			return true
		}
	}
	return false
}

// depart has the pods of some nodes be gone in a world, until that is undone.
func (l *leaving) depart(world *scenario.Scenario, nodes ...int32) {
	for _, node := range nodes {
		for _, pod := range l.pods[node] {
			world.Take(pod, node)
		}
	}
}

// laterAt returns the free amounts on a node once the pods have gone that leave by themselves. It must not be
// changed.
func (s *state) laterAt(node int32) []int64 {
	free, frees := s.freeAt(node), s.leaving.frees[node]
	if frees == nil {
		return free
	}
	later := make([]int64, len(free))
	copy(later, free)
	frees.addTo(later, +1)
	return later
}

// later returns the node that takes a pending pod once others have left it by themselves, the one on which the least is
// left over; -1 when there is none.
func (h *homes) later(at int32) int32 {
	i := &h.items[at]
	h.standings.kinds.kindOf(i)
	best, least := int32(-1), 0.0
	for _, node := range h.leaving.nodes {
		free := h.laterAt(node)
		if h.closed[node] || !i.needs.fitsInto(free) || !h.admits(i, node) || h.standings.later(i, node) != open {
			continue
		}
		if rest := h.rates.rest(free, i.needs); best < 0 || rest < least {
			best, least = node, rest
		}
	}
	return best
}

// later returns what speaks against a pending pod on a node once others have left it by themselves.
func (s *standings) later(i *item, node int32) standing {
	k := s.kinds.kindOf(i)
	if k.profile == nil {
		return never
	}
	at := place{i.kind, node}
	if known := s.afterwards[at]; known != unasked {
		return known
	}
	k.judge(s.world)
	before := s.world.Moves()
	s.leaving.depart(s.world, node)
	s.afterwards[at] = k.standing(s.world, s.world.Node(node))
	s.world.Undo(before)
	return s.afterwards[at]
}
