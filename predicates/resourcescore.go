package predicates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// share is one resource in a score: what it weighs and what the pod adds to it.
type share struct {
	read   func(node *cluster.Node) (taken, offered int64)
	adds   int64
	weight int64
}

// shares prepares the resources of a score for a pod. With defaults, CPU and
// memory count containers that ask for nothing as if they asked for a little.
// Scalar resources count only for pods that ask for them
// (pkg/scheduler/framework/plugins/noderesources/resource_allocation.go).
func shares(specs []v1alpha2.ResourceSpec, pod *cluster.Pod, names *cluster.ResourceNames, defaults bool) []share {
	var counting []share
	for _, spec := range specs {
		s := share{weight: spec.Weight}
		switch name := corev1.ResourceName(spec.Name); name {
		case corev1.ResourceCPU:
			s.adds, s.read = pod.Requests.MilliCPU, requestedCPU
			if defaults {
				s.adds, s.read = pod.NonZeroMilliCPU, nonZeroCPU
			}
		case corev1.ResourceMemory:
			s.adds, s.read = pod.Requests.Memory, requestedMemory
			if defaults {
				s.adds, s.read = pod.NonZeroMemory, nonZeroMemory
			}
		case corev1.ResourceEphemeralStorage:
			s.adds = pod.Requests.EphemeralStorage
			s.read = func(n *cluster.Node) (int64, int64) {
				return n.Requested.EphemeralStorage, n.Allocatable.EphemeralStorage
			}
		default:
			index, known := names.Lookup(name)
			if s.adds = pod.Requests.ScalarAt(index); !known || s.adds == 0 {
				continue
			}
			s.read = func(n *cluster.Node) (int64, int64) {
				return n.Requested.ScalarAt(index), n.Allocatable.ScalarAt(index)
			}
		}
		counting = append(counting, s)
	}
	return counting
}

func requestedCPU(n *cluster.Node) (taken, offered int64) {
	return n.Requested.MilliCPU, n.Allocatable.MilliCPU
}

func nonZeroCPU(n *cluster.Node) (taken, offered int64) {
	return n.NonZeroMilliCPU, n.Allocatable.MilliCPU
}

func requestedMemory(n *cluster.Node) (taken, offered int64) {
	return n.Requested.Memory, n.Allocatable.Memory
}

func nonZeroMemory(n *cluster.Node) (taken, offered int64) {
	return n.NonZeroMemory, n.Allocatable.Memory
}

// nodeResourcesFitScore prefers nodes by how much of them would be requested:
// little (LeastAllocated, which spreads) or much (MostAllocated, which packs).
type nodeResourcesFitScore struct {
	resources []v1alpha2.ResourceSpec
	rate      func(requested, offered int64) int64
}

func newNodeResourcesFitScore(profile *v1alpha2.Profile) (Score, error) {
	strategy := profile.NodeResourcesFitArgs().ScoringStrategy
	s := nodeResourcesFitScore{resources: strategy.Resources}
	switch strategy.Type {
	case v1alpha2.LeastAllocated:
		s.rate = leastAllocated
	case v1alpha2.MostAllocated:
		s.rate = mostAllocated
	default:
		return nil, fmt.Errorf("scoringStrategy.type: %q is not known", strategy.Type)
	}
	return s, nil
}

func (nodeResourcesFitScore) Name() string { return v1alpha2.NodeResourcesFit }

func (nodeResourcesFitScore) Aspects() cluster.Aspect {
	return cluster.AspectAllocatable | cluster.AspectRequested
}

func (s nodeResourcesFitScore) For(pod *cluster.Pod, snap *cluster.Snapshot) Rate {
	resources := shares(s.resources, pod, snap.ResourceNames, true)
	return func(node *cluster.Node) int64 {
		var sum, weights int64
		for i := range resources {
			r := &resources[i]
			taken, offered := r.read(node)
			if offered == 0 {
				continue
			}
			sum += r.weight * s.rate(taken+r.adds, offered)
			weights += r.weight
		}
		if weights == 0 {
			return 0
		}
		return sum / weights
	}
}

func leastAllocated(requested, offered int64) int64 {
	if requested > offered {
		return 0
	}
	return (offered - requested) * MaxScore / offered
}

func mostAllocated(requested, offered int64) int64 {
	return min(requested, offered) * MaxScore / offered
}
