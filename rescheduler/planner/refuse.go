package planner

import (
	"cmp"
	"slices"
)

// refusals explain why a pod gets no place, or no other one.
type refusals struct {
	*state

	roster    *roster
	standings *standings
	rehearsal *rehearsal
	watch     *stopwatch
}

// refuse returns why a group gets no place.
func (f *refusals) refuse(g *group) Refusal {
	r := Refusal{Name: g.Name, Pods: g.Pods}
	if g.Hindrance != "" {
		if r.Reason = g.Hindrance; g.Why != "" {
			r.Details = []Detail{{Reason: g.Why}}
		}
		return r
	}
	if len(g.Pods) < g.AtLeast {
		r.Reason = ReasonMembersMissing
		return r
	}
	for _, at := range g.items {
		if i := &f.items[at]; i.at < 0 {
			f.explain(&r, i)
			break
		}
	}
	return r
}

// deny returns why a pod stays that was to leave its node.
func (f *refusals) deny(w *wish) Refusal {
	r := Refusal{Name: w.Pod.FullName(), Reason: w.fixed}
	if w.item < 0 {
		return r
	}
	i := &f.items[w.item]
	for _, member := range f.roster.units[i.unit].items {
		if !f.ledger.allows(f.items[member].accounts) {
			r.Reason = ReasonBudget
			return r
		}
	}
	f.explain(&r, i)
	return r
}

// explain enters why an item gets no place, or no other one.
func (f *refusals) explain(r *Refusal, i *item) {
	if f.roster.kinds.kindOf(i).profile == nil {
		r.Reason = ReasonUnknownScheduler
		return
	}
	possible, enough := f.obstruct(r, i)
	switch {
	case possible == 0:
		r.Reason = ReasonNoNode
	case f.watch.late:
		r.Reason = ReasonLate
	case !enough && possible <= windows[0]:
		r.Reason = ReasonProtected
	default:
		r.Reason = ReasonNoHomes
	}
}

// obstruct enters what is against an item on the nodes, and returns how many nodes are possible
// and whether there would be room on one of them if all went that may.
func (f *refusals) obstruct(r *Refusal, i *item) (possible int, enough bool) {
	against, protected := map[string]int{}, map[string]int{}
	for _, node := range f.nodes {
		switch {
		case node == i.origin:
			continue
		case f.noTarget[node] != "":
			against[f.noTarget[node]]++
			continue
		case !f.rehearsal.eligible(i, f.rehearsal.world.Node(node)):
			against[ReasonNotEligible]++
			continue
		case f.standings.of(i, node) == never:
			against[f.rehearsal.hopeless(i, node)]++
			continue
		}
		if possible++; possible > windows[0] {
			continue
		}
		f.roster.load(node)
		for reason, pods := range f.roster.guarded[node] {
			protected[reason] += pods
		}
		enough = enough || f.wouldFit(i, node)
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

// wouldFit reports whether there would be room on a node if all went that may.
func (f *refusals) wouldFit(i *item, node int32) bool {
	free := slices.Clone(f.freeAt(node))
	for _, at := range f.on[node] {
		if o := &f.items[at]; !o.pending() && (o.limit <= i.limit || f.roster.rules.AllowHigherPriority) {
			o.needs.gather(free)
		}
	}
	return i.needs.fitsInto(free)
}
