package predicates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// share is one resource in a score: which, what it weighs and what the pod adds.
type share struct {
	resource sharedResource
	scalar   int // the index of a scalar resource
	adds     int64
	weight   int64
}

type sharedResource int

const (
	requestedCPU sharedResource = iota
	requestedMemory
	nonZeroCPU
	nonZeroMemory
	requestedEphemeralStorage
	requestedScalar
)

// of is how much of the resource is taken and offered on a node.
func (s *share) of(n *cluster.Node) (taken, offered int64) {
	switch s.resource {
	case requestedCPU:
		return n.Requested.MilliCPU, n.Allocatable.MilliCPU
	case requestedMemory:
		return n.Requested.Memory, n.Allocatable.Memory
	case nonZeroCPU:
		return n.NonZeroMilliCPU, n.Allocatable.MilliCPU
	case nonZeroMemory:
		return n.NonZeroMemory, n.Allocatable.Memory
	case requestedEphemeralStorage:
		return n.Requested.EphemeralStorage, n.Allocatable.EphemeralStorage
	default:
		return n.Requested.ScalarAt(s.scalar), n.Allocatable.ScalarAt(s.scalar)
	}
}

// shares prepares the resources of a score for a pod that adds so much to a node.
// With defaults, CPU and memory on the node count containers that ask for nothing
// as if they asked for a little. Scalar resources count only for pods that ask for
// them (pkg/scheduler/framework/plugins/noderesources/resource_allocation.go).
func shares(specs []v1alpha2.ResourceSpec, adds *cluster.Resources, names *cluster.ResourceNames, defaults bool) []share {
	var counting []share
	for _, spec := range specs {
		s := share{weight: spec.Weight}
		switch name := corev1.ResourceName(spec.Name); {
		case name == corev1.ResourceCPU && defaults:
			s.resource, s.adds = nonZeroCPU, adds.MilliCPU
		case name == corev1.ResourceCPU:
			s.resource, s.adds = requestedCPU, adds.MilliCPU
		case name == corev1.ResourceMemory && defaults:
			s.resource, s.adds = nonZeroMemory, adds.Memory
		case name == corev1.ResourceMemory:
			s.resource, s.adds = requestedMemory, adds.Memory
		case name == corev1.ResourceEphemeralStorage:
			s.resource, s.adds = requestedEphemeralStorage, adds.EphemeralStorage
		default:
			index, known := names.Lookup(name)
			s.resource, s.scalar, s.adds = requestedScalar, index, adds.ScalarAt(index)
			if !known || s.adds == 0 {
				continue
			}
		}
		counting = append(counting, s)
	}
	return counting
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

func (s nodeResourcesFitScore) For(pod *cluster.Pod, snap *cluster.Snapshot) Rating {
	adds := snap.ResourceNames.ContainerRequests(pod.Pod)
	resources := shares(s.resources, &adds, snap.ResourceNames, true)
	return Rating{Alone: func(node *cluster.Node) int64 {
		var sum, weights int64
		for i := range resources {
			r := &resources[i]
			taken, offered := r.of(node)
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
	}}
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
