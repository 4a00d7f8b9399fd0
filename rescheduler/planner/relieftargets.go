package planner

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// refuse returns why a node bears too much still: no other node is a target for any pod that might leave it, else too few
// pods might. hot are the nodes that are relieved.
func (f *relief) refuse(node *cluster.Node, hot sets.Set[int32]) Refusal {
	r := Refusal{Name: node.Name, Reason: ReasonTooLittle, Details: f.roster.staying(node.Index)}
	var against []Detail // for the first of them
	for n, c := range f.burdens(node.Index) {
		for _, member := range f.roster.units[c.unit].items {
			if f.items[member].at != node.Index {
				continue
			}
			details, some := f.targets(&f.items[member], hot)
			if some {
				return r
			}
			if n == 0 && against == nil {
				against = details
			}
		}
	}
	if against != nil {
		r.Reason, r.Details = ReasonNoTarget, append(against, r.Details...)
	}
	return r
}

// targets counts the other nodes by what is against a pod there, with all that is planned. It reports whether there is one
// that nothing is against.
func (f *relief) targets(i *item, hot sets.Set[int32]) (against []Detail, some bool) {
	counts := map[string]int{}
	for _, node := range f.nodes {
		if node == i.at {
			continue
		}
		why := f.against(i, node, hot)
		if why == "" {
			return nil, true
		}
		counts[why]++
	}
	against = make([]Detail, 0, len(counts)) // not nil where there is no other node
	for reason, nodes := range counts {
		against = append(against, Detail{Reason: reason, Nodes: nodes})
	}
	slices.SortFunc(against, func(a, b Detail) int { return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason)) })
	return against, false
}

// against says why a node is no target for an item, "" when it is one.
func (f *relief) against(i *item, node int32, hot sets.Set[int32]) string {
	switch {
	case f.noTarget[node] != "":
		return f.noTarget[node]
	case hot.Has(node):
		return ReasonHotItself
	case !f.homes.admits(i, node):
		return ReasonNotEligible
	}
	switch f.standings.of(i, node) {
	case never:
		return f.rehearsal.hopeless(i, node)
	case taken:
		return f.rehearsal.objects(i, node)
	case open, unasked:
	}
	lacks := make(amounts, f.dims) // with what is planned
	i.needs.short(f.freeAt(node), lacks)
	for d, lack := range lacks {
		switch {
		case lack > 0 && d < f.plain():
			return ReasonTargetRoom
		case lack > 0:
			return ReasonTargetLoad
		}
	}
	return ""
}
