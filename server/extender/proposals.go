package extender

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// enoughNodes is of how many nodes kube-scheduler is told, the best by its own rules, when evictions there are as it proposes: it
// proposes a tenth of the cluster, and takes one.
const enoughNodes = 8

// proposal is a node, and the pods that kube-scheduler proposes to evict from it.
type proposal struct {
	node    *cluster.Node
	victims *extenderv1.MetaVictims
	cost    placement.Cost
}

// rank returns the proposals for nodes that the snapshot knows, the best ones first and equal ones in any order.
func rank(snap *cluster.Snapshot, proposed victims) []proposal {
	ranked := make([]proposal, 0, len(proposed))
	for name, victims := range proposed {
		if node := snap.NodeByName(name); node != nil && len(victims.Pods) > 0 {
			ranked = append(ranked, proposal{node, victims, costOf(node, victims)})
		}
	}
	slices.SortFunc(ranked, func(a, b proposal) int { return a.cost.Compare(&b.cost) })
	return ranked
}

// costOf returns the cost of evicting pods from a node, also pods that it does not have in this view.
func costOf(node *cluster.Node, victims *extenderv1.MetaVictims) placement.Cost {
	c := placement.Cost{Violations: victims.NumPDBViolations}
	for _, victim := range victims.Pods {
		if victim != nil {
			if pod := node.Pod(types.UID(victim.UID)); pod != nil {
				c.Add(pod)
				continue
			}
		}
		c.AddUnknown()
	}
	return c
}
