package planner

import (
	"math"

	"muster.dev/muster/cluster"
)

// Coalesce plans to empty nodes, all that can be emptied but no more than atMost, 0 for any number: all pods on
// them go to other nodes, except pods that stay with a node, as the pods of DaemonSets. Only nodes that among
// selects are emptied, or any when it is nil. Nothing goes to nodes that are empty already.
func (p *Problem) Coalesce(among func(*cluster.Node) bool, atMost int) *Plan {
	s := newSearch(p, nil, nil)
	if atMost <= 0 {
		atMost = math.MaxInt
	}
	candidates := s.clearing.occupied(among)
	proven := s.solve(func() { s.clearing.emptyMost(candidates, atMost) })
	plan := s.author.plan(proven)
	for _, node := range candidates {
		at := p.Snapshot.Node(node)
		if s.closed[node] {
			plan.Emptied = append(plan.Emptied, at)
		} else if refusal := s.clearing.kept[node]; refusal.Reason != "" {
			plan.Kept = append(plan.Kept, refusal)
		}
	}
	return plan
}

// Removal says of a node whether the cluster could do without it.
type Removal struct {
	Node *cluster.Node
	// Steps are the steps that would bring its pods to other nodes; an empty node has none.
	Steps []Step
	// Refusal says why that cannot be; its Reason is "" when it can.
	Refusal Refusal
}

// Removable says of each node whether it could be removed, if no other one were. When time is
// up, the rest of the nodes is left out.
func (p *Problem) Removable(among func(*cluster.Node) bool) []Removal {
	s := newSearch(p, nil, nil)
	var removals []Removal
	for _, node := range s.nodes {
		at := p.Snapshot.Node(node)
		if among != nil && !among(at) {
			continue
		}
		if s.watch.past() {
			break
		}
		proven := s.solve(func() {
			s.closed[node] = false // by an attempt before this one
			s.clearing.empty(node)
		})
		removal := Removal{Node: at, Refusal: s.clearing.kept[node]}
		if s.closed[node] {
			removal.Refusal, removal.Steps = Refusal{}, s.author.plan(proven).Steps
		}
		removals = append(removals, removal)
		s.back(0)
		s.closed[node], s.clearing.forsaken[node] = false, false
	}
	return removals
}
