package policy

import (
	"fmt"
	"slices"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// relieve moves pods off nodes that are hot.
func relieve(c *config.DisruptionBudgets, hot *Hot) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		return hot.relief(*s.Problem, int(c.NodesPerPlan), "no node is hot for long enough")
	}
}

// relief moves pods off nodes that were found hot. most bounds their number, 0 for any number. none says in
// words that there are none.
func (h *Hot) relief(problem planner.Problem, most int, none string) (*planner.Plan, string) {
	now := h.bars(problem.Snapshot)
	nodes := h.nodes(problem.Snapshot, now.high)
	if len(nodes) == 0 {
		return nil, none
	}
	if most > 0 {
		nodes = nodes[:min(most, len(nodes))]
	}
	problem.Load = h.load(now, func(node *cluster.Node) bool { return slices.Contains(nodes, node) })
	var reliefs []planner.Relief
	for _, node := range nodes {
		reliefs = append(reliefs, planner.Relief{Node: node, Why: "relieves " + h.describe(node, now.high)})
	}
	plan := problem.Relieve(reliefs)
	if len(plan.Steps) > 0 {
		return plan, ""
	}
	if len(plan.Kept) == 0 {
		return plan, fmt.Sprintf("pods that are being deleted relieve %s", h.describe(nodes[0], now.high))
	}
	hot := problem.Snapshot.NodeByName(plan.Kept[0].Name)
	return plan, fmt.Sprintf("no pod can leave %s: %s", h.describe(hot, now.high), &plan.Kept[0])
}

// describe returns a node and what it uses too much of, in words.
func (h *Hot) describe(node *cluster.Node, high []int64) string {
	m, _ := h.meter.Node(node)
	for i, ceiling := range m.Ceilings(high) {
		if ceiling > 0 && m.Used[i] >= ceiling {
			return fmt.Sprintf(
				"%s, which uses %.0f %% of its %s", node.Name, 100*float64(m.Used[i])/float64(m.Allocatable[i]), h.meter.Resources()[i],
			)
		}
	}
	if waits := h.pressure.describe(node); waits != "" {
		return waits
	}
	return node.Name
}
