package extender

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
)

// enoughNodes is of how many nodes kube-scheduler is told, the best by its own rules, when evictions there are as it proposes: it
// proposes a tenth of the cluster, and takes one.
const enoughNodes = 8

// proposal is a node, and the pods that kube-scheduler proposes to evict from it.
type proposal struct {
	node    *cluster.Node
	victims *extenderv1.MetaVictims
	cost    cost
}

// cost orders proposals as kube-scheduler does, which takes one of the least (pickOneNodeForPreemption in
// pkg/scheduler/framework/preemption).
type cost struct {
	violations int64
	highest    int64 // priority of a victim
	sum        int64 // of their priorities
	victims    int
	earliest   time.Time // when the first one of the highest priority started
}

func (c *cost) compare(other *cost) int {
	return cmp.Or(
		cmp.Compare(c.violations, other.violations),
		cmp.Compare(c.highest, other.highest),
		cmp.Compare(c.sum, other.sum),
		cmp.Compare(c.victims, other.victims),
		other.earliest.Compare(c.earliest),
	)
}

// rank returns the proposals for nodes that the snapshot knows, the best ones first and equal ones in any order.
func rank(snap *cluster.Snapshot, proposed victims) []proposal {
	ranked := make([]proposal, 0, len(proposed))
	for name, victims := range proposed {
		if node := snap.NodeByName(name); node != nil && len(victims.Pods) > 0 {
			ranked = append(ranked, proposal{node, victims, costOf(node, victims)})
		}
	}
	slices.SortFunc(ranked, func(a, b proposal) int { return a.cost.compare(&b.cost) })
	return ranked
}

// costOf returns the cost of evicting pods from a node. A pod that the node does not have in this view is dear.
func costOf(node *cluster.Node, victims *extenderv1.MetaVictims) cost {
	c := cost{violations: victims.NumPDBViolations, highest: math.MinInt64, victims: len(victims.Pods)}
	for _, victim := range victims.Pods {
		priority, started := int64(math.MaxInt32), time.Time{}
		if victim != nil {
			if pod := node.Pod(types.UID(victim.UID)); pod != nil {
				priority, started = int64(corev1helpers.PodPriority(pod.Pod)), startOf(pod)
			}
		}
		c.sum += priority + math.MaxInt32 + 1 // none is negative, so that more pods cost more
		switch {
		case priority > c.highest:
			c.highest, c.earliest = priority, started
		case priority == c.highest && started.Before(c.earliest):
			c.earliest = started
		}
	}
	return c
}

// startOf returns when a pod started; later than any other when it has not.
func startOf(pod *cluster.Pod) time.Time {
	if pod.Status.StartTime == nil {
		return time.Unix(math.MaxInt32, 0)
	}
	return pod.Status.StartTime.Time
}
