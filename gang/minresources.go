package gang

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// lacking says in words of which resource all nodes together have less free than a group is
// to have, what its own members take being free to it; "" when there is enough. It is the
// check of minResources in the coscheduling plugin: it knows nothing of how what is free is
// spread over nodes, and a plan must follow.
func (m *Manager) lacking(p part) string {
	if len(p.spec.minResources) == 0 || p.missing() == 0 {
		return ""
	}
	snap := m.cluster.Snapshot()
	free := cluster.Resources{Scalar: make([]int64, snap.ResourceNames.Len())}
	add := func(offered, asked *cluster.Resources) {
		free.MilliCPU += max(offered.MilliCPU-asked.MilliCPU, 0)
		free.Memory += max(offered.Memory-asked.Memory, 0)
		free.EphemeralStorage += max(offered.EphemeralStorage-asked.EphemeralStorage, 0)
		for i := range free.Scalar {
			free.Scalar[i] += max(offered.ScalarAt(i)-asked.ScalarAt(i), 0)
		}
	}
	for node := range snap.Nodes() {
		add(&node.Allocatable, &node.Requested)
	}
	for _, member := range p.members {
		if member.stage != pending {
			add(&member.pod.Requests, &cluster.Resources{})
		}
	}
	want := snap.ResourceNames.Resources(p.spec.minResources)
	for _, name := range slices.Sorted(maps.Keys(p.spec.minResources)) {
		has, needs := amount(snap.ResourceNames, &free, name), amount(snap.ResourceNames, &want, name)
		if has < needs {
			quantity := p.spec.minResources[name]
			return fmt.Sprintf("minResources asks for %s of %s, and the nodes have less free", quantity.String(), name)
		}
	}
	return ""
}

func amount(names *cluster.ResourceNames, of *cluster.Resources, name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourceCPU:
		return of.MilliCPU
	case corev1.ResourceMemory:
		return of.Memory
	case corev1.ResourceEphemeralStorage:
		return of.EphemeralStorage
	case corev1.ResourcePods:
		return 0 // every node has its own limit, which a plan knows
	}
	index, known := names.Lookup(name)
	if !known {
		return 0
	}
	return of.ScalarAt(index)
}
