package planner

import "muster.dev/muster/cluster"

// Exclusion is a pod on a node that no plan moves.
type Exclusion struct {
	Pod    *cluster.Pod
	Node   *cluster.Node
	Reason string // one of the constants, or what Rules.Unless says
}

// Exclusions returns all pods on nodes that no plan moves, by the order of nodes. Obstacles to a move of the
// others, such as that they fit nowhere, are not looked at.
func (p *Problem) Exclusions() []Exclusion {
	roster := newSearch(p, nil, nil).roster
	var all []Exclusion
	for node := range p.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if reason := roster.excludes(spot{pod, node.Index}); reason != "" {
				all = append(all, Exclusion{Pod: pod, Node: node, Reason: reason})
			}
		}
	}
	return all
}

// excludes returns why a pod may not be moved, or not with its gang; "" when it may.
func (r *roster) excludes(at spot) string {
	name := gangOf(at.pod)
	if name != "" && r.units[r.loadGang(name)].fixed != "" {
		return r.fixed(at)
	}
	_, reason := r.judge(at)
	return reason
}
