package membership

import (
	"fmt"
	"maps"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Lacking says in words of which resource all nodes together have less free than a group asks for by its minResources,
// what its own members take being free to it; "" when there is enough. It is the
// check of minResources in the coscheduling plugin: it knows nothing of how what is free is
// spread over nodes, and a plan must follow.
func Lacking(asked corev1.ResourceList, own []*cluster.Pod, snap *cluster.Snapshot) string {
	var free cluster.Resources
	scalars := map[cluster.ScalarName]int64{}
	add := func(offered, asked *cluster.Resources) {
		free.MilliCPU += max(offered.MilliCPU-asked.MilliCPU, 0)
		free.Memory += max(offered.Memory-asked.Memory, 0)
		free.EphemeralStorage += max(offered.EphemeralStorage-asked.EphemeralStorage, 0)
		for _, scalar := range offered.Scalars {
			scalars[scalar.Name] += max(scalar.Amount-asked.Scalar(scalar.Name), 0)
		}
	}
	for node := range snap.Nodes() {
		add(&node.Allocatable, &node.Requested)
	}
	for _, pod := range own {
		add(&pod.Requests, &cluster.Resources{})
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		quantity := asked[name]
		var has int64
		needs := quantity.Value()
		switch name {
		case corev1.ResourceCPU:
			has, needs = free.MilliCPU, quantity.MilliValue()
		case corev1.ResourceMemory:
			has = free.Memory
		case corev1.ResourceEphemeralStorage:
			has = free.EphemeralStorage
		case corev1.ResourcePods:
			continue // every node has its own limit, which a plan knows
		default:
			has = scalars[unique.Make(name)]
		}
		if has < needs && !v1alpha1.Costless(name) {
			return fmt.Sprintf("minResources asks for %s of %s, and the nodes have less free", quantity.String(), name)
		}
	}
	return ""
}
