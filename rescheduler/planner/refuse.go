package planner

import (
	"cmp"
	"slices"

	"muster.dev/muster/predicates"
)

// refuse says why a group gets no place.
func (s *search) refuse(g *group) Refusal {
	r := Refusal{Name: g.Name, Pods: g.Pods}
	if len(g.Pods) < g.AtLeast {
		r.Reason = ReasonMembersMissing
		return r
	}
	for _, at := range g.items {
		if i := &s.items[at]; i.at < 0 {
			s.explain(&r, i)
			break
		}
	}
	return r
}

// deny says why a pod stays that was to leave its node.
func (s *search) deny(w *wish) Refusal {
	r := Refusal{Name: nameOf(w.Pod), Reason: w.fixed}
	if w.item < 0 {
		return r
	}
	i := &s.items[w.item]
	for _, member := range s.units[i.unit].items {
		if !s.ledger.allows(s.items[member].accounts) {
			r.Reason = ReasonBudget
			return r
		}
	}
	s.explain(&r, i)
	return r
}

// explain enters why an item gets no place, or no other one.
func (s *search) explain(r *Refusal, i *item) {
	if s.kindOf(i).profile == nil {
		r.Reason = ReasonUnknownScheduler
		return
	}
	possible, enough := s.obstruct(r, i)
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
}

// obstruct enters what is against an item on the nodes, and says how many nodes are possible
// and whether there would be room on one of them if all went that may.
func (s *search) obstruct(r *Refusal, i *item) (possible int, enough bool) {
	against, protected := map[string]int{}, map[string]int{}
	for _, node := range s.nodes {
		switch {
		case node == i.origin:
			continue
		case !s.eligible(i, s.world.Node(node)):
			against[ReasonNotEligible]++
			continue
		case s.standingAt(i, node) == never:
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
	judgement := k.judge(s.world).Judgement()
	judgement.Verdicts(s.world.Node(node), func(v predicates.Verdict) {
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
