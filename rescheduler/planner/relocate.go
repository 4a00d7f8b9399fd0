package planner

import (
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Wish asks that a pod leave its node. Such pods are the reason of a plan, as pending pods are for MakeRoom.
type Wish struct {
	Pod *cluster.Pod // on a node of the snapshot
	// Why says in words why it is to leave, as part of a sentence about the pod: "does not
	// tolerate a taint of worker-a".
	Why string
	// While, if set, says that it is still to leave: when it is its turn, with what has been
	// planned by then, others may have gone, so that it may stay. It must depend on nothing else.
	While func(Place) bool
	// To, if set, says that it may go to a node, besides what the predicates say. The node is
	// as it is when the pod comes there, with what the plan has brought there by then.
	To func(*cluster.Node) bool
	// Worth, if set, says that it is worth to go from its node to another one: both as they are
	// when the pod comes there, with what the plan has moved by then. The pod may or may not
	// be on the former any more.
	Worth func(from, to *cluster.Node) bool
}

// Place is where a pod is.
type Place struct {
	Node *cluster.Node // with the pod, and with what is planned by then
	// Against returns the objections of the predicates to the pod, if it came there now.
	Against func() []predicates.Objection
}

// Relocate plans other places for all the pods it can of those to leave their nodes, the pods of the first
// wishes first. Each gets the place that the scores of its profile prefer, among the places with room; only
// where there is none others are moved, as for a pending pod of its priority. Whether the predicates allow its
// present place does not matter. A gang leaves as a whole, if any pod of it is to leave. There should be one
// wish for a pod: of several the first counts.
func (p *Problem) Relocate(wishes []Wish) *Plan {
	s := newSearch(p, nil, wishes)
	proven := s.solve(s.departures.grantAll)
	return s.author.plan(proven)
}
