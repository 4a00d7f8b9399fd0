package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Trait is a property that few nodes have as a rule. The snapshot knows which; see [Snapshot.Having].
type Trait int

const (
	// TraitAffine is of nodes with Affine pods.
	TraitAffine Trait = iota
	// TraitAvoided is of nodes with a taint of effect PreferNoSchedule.
	TraitAvoided

	traits = iota
)

func (n *Node) has(trait Trait) bool {
	if trait == TraitAffine {
		return len(n.Affine) > 0
	}
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
}
