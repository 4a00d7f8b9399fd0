package placement

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// domains order the nodes for pods of one kind that have to be near others: by the values of the label that their required
// affinity names. Domains with room for all of them come first, the one with the least to spare before the others, and then the
// largest ones.
type domains struct {
	of    []int32 // by node index, the place of its domain, -1 for a node without the label
	count int
}

// newDomains returns the domains for a number of pods like one, nil for pods that need to be near nobody.
func newDomains(plan *Plan, pod *cluster.Pod, pods int) *domains {
	if pod.Affinity == nil || len(pod.Affinity.Required) == 0 || pod.Affinity.Required[0].TopologyKey == corev1.LabelHostname {
		return nil
	}
	key := pod.Affinity.Required[0].TopologyKey
	snap, trial := plan.Snapshot(), plan.batch(pod).trial
	slots := map[string]int64{}
	for node := range snap.Nodes() {
		if value, has := node.Labels[key]; has && trial.Verdict(node.Index) == predicates.Fits {
			slots[value] += int64(Slots(plan.Node(node.Index), pod))
		}
	}
	values := make([]string, 0, len(slots))
	for value := range slots {
		values = append(values, value)
	}
	spare := func(value string) int64 {
		if spare := slots[value] - int64(pods); spare >= 0 {
			return spare
		}
		return math.MaxInt64 - slots[value]
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(spare(a), spare(b)), cmp.Compare(a, b)) })
	place := map[string]int32{}
	for i, value := range values {
		place[value] = int32(i)
	}
	d := &domains{of: make([]int32, snap.IndexEnd()), count: len(values)}
	for node := range snap.Nodes() {
		at, known := place[node.Labels[key]]
		if !known {
			at = -1
		}
		d.of[node.Index] = at
	}
	return d
}

// rank returns how late a node is to be tried in a turn, which numbers from 1: 0 for the first, and where it does not matter.
func (d *domains) rank(index int32, turn int) float64 {
	switch {
	case d == nil || d.count == 0:
		return 0
	case d.of[index] < 0:
		return float64(d.count)
	}
	return float64((int(d.of[index]) + turn - 1) % d.count)
}

// Slots returns how many pods like one there is room for on a node, one beside the other.
func Slots(node *cluster.Node, pod *cluster.Pod) int {
	asked, offered, taken := &pod.Requests, &node.Allocatable, &node.Requested
	slots := offered.Pods - int64(len(node.Pods))
	limit := func(asked, free int64) {
		if asked > 0 {
			slots = min(slots, free/asked)
		}
	}
	limit(asked.MilliCPU, offered.MilliCPU-taken.MilliCPU)
	limit(asked.Memory, offered.Memory-taken.Memory)
	limit(asked.EphemeralStorage, offered.EphemeralStorage-taken.EphemeralStorage)
	for _, scalar := range asked.Scalars {
		limit(scalar.Amount, offered.Scalar(scalar.Name)-taken.Scalar(scalar.Name))
	}
	return int(max(0, slots))
}
