package planner

import (
	"fmt"
	"slices"

	"muster.dev/muster/cluster"
)

// attribute says of each step for whom it is, and why.
func (s *search) attribute(p *Plan, proven []int32, placements map[int32]int) {
	next := 0
	moves := make([]int, len(p.Placements))
	for _, at := range proven {
		i := &s.items[at]
		if i.pending() {
			continue
		}
		step := &p.Steps[next]
		next++
		for other := range s.wakeOf(at).pending {
			step.For = append(step.For, placements[other])
		}
		slices.Sort(step.For)
		step.Why = s.why(i)
		for _, place := range step.For {
			p.Placements[place].Cost += step.Cost
			moves[place]++
		}
	}
	for at := range p.Placements {
		placement := &p.Placements[at]
		placement.Why = placed(placement.Node, moves[at])
	}
}

func placed(node *cluster.Node, moves int) string {
	switch moves {
	case 0:
		return fmt.Sprintf("%s has room", node.Name)
	case 1:
		return fmt.Sprintf("%s has room once a pod has moved", node.Name)
	default:
		return fmt.Sprintf("%s has room once %d pods have moved", node.Name, moves)
	}
}

// why is for whom an item moves, in words.
func (s *search) why(i *item) string {
	from := s.problem.Snapshot.Node(i.origin).Name
	if i.isToLeave() {
		return i.wish.Why
	}
	if s.closed[i.origin] {
		return fmt.Sprintf("so that %s becomes empty", from)
	}
	var pending, moved []string
	for _, other := range s.on[i.origin] {
		switch o := &s.items[other]; {
		case o.pending():
			pending = append(pending, nameOf(o.pod))
		case o.away():
			moved = append(moved, nameOf(o.pod))
		}
	}
	slices.Sort(pending)
	slices.Sort(moved)
	switch {
	case len(pending) > 0:
		return fmt.Sprintf("makes room on %s for %s", from, andMore(pending))
	case len(moved) > 0:
		return fmt.Sprintf("makes room on %s for %s, which has to move there", from, andMore(moved))
	default:
		return "moves with the rest of its gang"
	}
}

func nameOf(pod *cluster.Pod) string { return pod.Namespace + "/" + pod.Name }

func andMore(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}
