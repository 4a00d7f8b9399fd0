package policy

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/rescheduler/planner"
)

// UnevenSamples is how many measurements in a row must find that a node uses much more than the others: more than for
// Relieve, as nobody suffers meanwhile.
const UnevenSamples = 5

// NewUneven returns what finds nodes that use much more than the others, for Balance. It has seen nothing, and
// a number of measurements in a row must find it.
//
// What all nodes together use of what they offer is the mean. A node is hot at the margin above it, and pods move only to
// nodes that stay below that by half of the margin: each move makes the fuller of two nodes less full, and no two undo each
// other.
func NewUneven(c *config.BalancePolicy, meter *loadaware.Meter, samples int) *Hot {
	margins := meter.Amounts(c.Margins)
	around := func(snap *cluster.Snapshot) bars {
		mean := meanOf(snap, meter)
		b := bars{make([]int64, len(margins)), make([]int64, len(margins))}
		for i, margin := range margins {
			if margin > 0 {
				b.high[i] = min(mean[i]+margin, 100)
				b.target[i] = max(b.high[i]-max(margin/2, 1), 1) // 0 stands for none
			}
		}
		return b
	}
	return &Hot{meter: meter, bars: around, samples: samples, streaks: map[types.UID]streak{}}
}

// meanOf returns the mean use of nodes as a share of what they offer, in percent, by the meter's resources.
// Nodes that are not measured do not count.
func meanOf(snap *cluster.Snapshot, meter *loadaware.Meter) []int64 {
	count := len(meter.Resources())
	used, offered, mean := make([]float64, count), make([]float64, count), make([]int64, count)
	for node := range snap.Nodes() {
		m, known := meter.Node(node)
		if !known {
			continue
		}
		for i := range mean {
			used[i] += float64(m.Used[i])
			offered[i] += float64(m.Allocatable[i])
		}
	}
	for i := range mean {
		if offered[i] > 0 {
			mean[i] = int64(100 * used[i] / offered[i])
		}
	}
	return mean
}

// reasonGangForBalance is why members of gangs stay: to move one is to move all.
const reasonGangForBalance = "it is of a gang, and no gang is moved for balance"

// balanced moves pods off nodes that use much more than the others.
func balanced(c *config.DisruptionBudgets, uneven *Hot) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		if s.Pending > 0 {
			return nil, "pods are pending, which get the room first"
		}
		problem := *s.Problem
		problem.Limits.Hops = 1 // nobody is moved to make room for balance
		before := problem.Rules.Unless
		problem.Rules.Unless = func(pod *cluster.Pod, node *cluster.Node) string {
			if _, member := membership.Of(pod); member || membership.Left(pod) {
				return reasonGangForBalance
			}
			if before != nil {
				return before(pod, node)
			}
			return ""
		}
		return uneven.relief(problem, int(c.NodesPerPlan), "no node uses much more than the others for long enough")
	}
}
