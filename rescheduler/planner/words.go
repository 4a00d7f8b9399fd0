package planner

import (
	"cmp"
	"fmt"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
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

// refuse says why a group gets no place.
func (s *search) refuse(g *group) Refusal {
	r := Refusal{Name: g.Name}
	var i *item
	for _, at := range g.items {
		if s.items[at].at < 0 {
			i = &s.items[at]
			break
		}
	}
	k := s.kindOf(i)
	if k.profile == nil {
		r.Reason = ReasonUnknownScheduler
		return r
	}
	possible, enough := s.obstruct(&r, i)
	switch {
	case possible == 0:
		r.Reason = ReasonNoNode
	case s.late:
		r.Reason = ReasonLate
	case !enough && possible <= windows[0]:
		r.Reason = ReasonProtected
	default:
		r.Reason = ReasonNoHomes
	}
	return r
}

// obstruct enters what is against an item on the nodes, and says how many nodes are possible
// and whether there would be room on one of them if all went that may.
func (s *search) obstruct(r *Refusal, i *item) (possible int, enough bool) {
	against, protected := map[string]int{}, map[string]int{}
	for _, node := range s.nodes {
		if s.standingAt(i, node) == never {
			against[s.hopeless(s.kindOf(i), node)]++
			continue
		}
		if possible++; possible > windows[0] {
			continue
		}
		s.load(node)
		for reason, pods := range s.guarded[node] {
			protected[reason] += pods
		}
		enough = enough || s.wouldFit(i, node)
	}
	for reason, nodes := range against {
		r.Details = append(r.Details, Detail{Reason: reason, Nodes: nodes})
	}
	for reason, pods := range protected {
		r.Details = append(r.Details, Detail{Reason: reason, Pods: pods})
	}
	slices.SortFunc(r.Details, func(a, b Detail) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
	})
	return possible, enough
}

// hopeless is the first reason why no pod that goes would make a node one for a kind.
func (s *search) hopeless(k *kind, node int32) string {
	reason := ""
	judgement := k.judge(s.world)
	judgement.Verdicts(s.world.node(node), func(v predicates.Verdict) {
		if reason == "" && !v.Resolvable() {
			reason = judgement.Reason(v)
		}
	})
	return cmp.Or(reason, ReasonNoHomes)
}

// wouldFit says that there would be room on a node if all went that may.
func (s *search) wouldFit(i *item, node int32) bool {
	free := slices.Clone(s.freeAt(node))
	for _, at := range s.on[node] {
		if o := &s.items[at]; !o.pending() && (o.limit <= i.limit || s.problem.Rules.AllowHigherPriority) {
			o.needs.addTo(free, +1)
		}
	}
	return i.needs.fitsInto(free)
}
