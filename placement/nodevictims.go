package placement

import (
	"slices"

	"muster.dev/muster/cluster"
)

// NodeEvictions finds the pods that have to go from a node so that one more pod fits there: the rule of
// [Evictions] for one node by itself. It belongs to one goroutine.
type NodeEvictions struct{ terms terms }

// NewNodeEvictions searches on a snapshot. may says which pods may be evicted.
func NewNodeEvictions(snap *cluster.Snapshot, may func(*cluster.Pod) (Eviction, bool)) *NodeEvictions {
	return &NodeEvictions{newTerms(snap, may)}
}

// Victims returns the pods of a node that have to go so that one more fits, the most important first; none when it does not
// fit even without all that may go, and when nobody has to. fits says whether it fits the node in another state.
func (n *NodeEvictions) Victims(fits func(*cluster.Node) bool, node *cluster.Node) (victims []Victim) {
	chosen := choose(fits, node, n.terms.evictees(node))
	slices.SortStableFunc(chosen, func(a, b *evictee) int { return ByImportance(a.pod, b.pod) })
	evicted := map[*Limit]int{}
	for _, v := range chosen {
		victims = append(victims, Victim{Pod: v.pod, Node: node.Index, Leaving: v.Leaving, Violates: v.violates(evicted)})
	}
	return victims
}
