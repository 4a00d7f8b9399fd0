package membership

import (
	"fmt"
	"maps"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Lacking names the resource whose free amount on all nodes together is less than the minResources of a group
// ask for; "" when there is enough. Resources of its own members count as free. It is the check of minResources
// in the coscheduling plugin: it ignores how the free resources are spread over nodes, and a plan must follow.
func Lacking(asked corev1.ResourceList, own []*cluster.Pod, snap *cluster.Snapshot) string {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if name == corev1.ResourcePods || v1alpha1.Costless(name) {
			continue // of pods every node has its own limit, which a plan knows
		}
		free, needs := freeOf(name, own, snap), asked[name]
		if free.Cmp(needs) < 0 {
			return fmt.Sprintf("minResources asks for %s of %s, and the nodes have less free", needs.String(), name)
		}
	}
	return ""
}

// freeOf returns how much of a resource nodes have free, and pods take. It is a quantity, since 64 bits may not hold the sum.
func freeOf(name corev1.ResourceName, own []*cluster.Pod, snap *cluster.Snapshot) resource.Quantity {
	var free resource.Quantity
	scalar, quantityOf := unique.Make(name), resource.NewQuantity
	of := func(r *cluster.Resources) int64 { return r.Scalar(scalar) }
	switch name {
	case corev1.ResourceCPU:
		of, quantityOf = func(r *cluster.Resources) int64 { return r.MilliCPU }, resource.NewMilliQuantity
	case corev1.ResourceMemory:
		of = func(r *cluster.Resources) int64 { return r.Memory }
	case corev1.ResourceEphemeralStorage:
		of = func(r *cluster.Resources) int64 { return r.EphemeralStorage }
	}
	add := func(amount int64) {
		if amount > 0 {
			free.Add(*quantityOf(amount, resource.DecimalSI))
		}
	}
	for node := range snap.Nodes() {
		add(of(&node.Allocatable) - of(&node.Requested))
	}
	for _, pod := range own {
		add(of(&pod.Requests))
	}
	return free
}
