package policy

import (
	"fmt"
	"slices"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// relieve moves pods off nodes that are hot.
func relieve(c *config.RelievePolicy, hot *Hot) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		nodes := hot.nodes(s.Problem.Snapshot)
		if len(nodes) == 0 {
			return nil, "no node is hot for long enough"
		}
		if most := int(c.MaxNodes); most > 0 {
			nodes = nodes[:min(most, len(nodes))]
		}
		problem := *s.Problem
		problem.Load = hot.load(func(node *cluster.Node) bool { return slices.Contains(nodes, node) })
		var reliefs []planner.Relief
		for _, node := range nodes {
			reliefs = append(reliefs, planner.Relief{Node: node, Why: "relieves " + hot.describe(node)})
		}
		plan := problem.Relieve(reliefs)
		if len(plan.Steps) > 0 {
			return plan, ""
		}
		return plan, fmt.Sprintf("no pod can leave %s", hot.describe(nodes[0]))
	}
}

// describe is a node and what it uses too much of, in words.
func (h *Hot) describe(node *cluster.Node) string {
	m, _ := h.meter.Node(node)
	for i, ceiling := range m.Ceilings(h.high) {
		if ceiling > 0 && m.Used[i] >= ceiling {
			return fmt.Sprintf(
				"%s, which uses %.0f %% of its %s", node.Name, 100*float64(m.Used[i])/float64(m.Allocatable[i]), h.meter.Resources()[i],
			)
		}
	}
	return node.Name
}
