package planner

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// Relief is a node that is to bear less.
type Relief struct {
	Node *cluster.Node // of the snapshot
	// Why says in words why pods leave it.
	Why string
}

// Relieve plans to move pods off nodes until these bear no more than they should, by the Load of the problem,
// which is required: the first nodes first. Nothing goes to any of them. Pods of higher priority stay while
// enough of lower priority can leave, any others while enough of best effort can; for the rest, no more leave
// than must. Each gets the place that the scores of its profile prefer, among the places with room for it and
// its load. Where not enough can leave, all leave that can.
func (p *Problem) Relieve(nodes []Relief) *Plan {
	among := sets.New[int32]()
	for _, r := range nodes {
		among.Insert(r.Node.Index)
	}
	relieved := *p
	relieved.Bars = func(pod *cluster.Pod, node *cluster.Node) bool {
		return among.Has(node.Index) || p.Bars != nil && p.Bars(pod, node)
	}
	s := newSearch(&relieved, nil, nil)
	proven := s.solve(func() {
		s.departures.forget(0) // wishes of an attempt before this one
		for at := range nodes {
			s.relief.relieve(&nodes[at])
		}
	})
	plan := s.author.plan(proven)
	for _, r := range nodes {
		if s.relief.burdened(r.Node.Index) {
			plan.Kept = append(plan.Kept, s.relief.refuse(r.Node, among))
		}
	}
	return plan
}
