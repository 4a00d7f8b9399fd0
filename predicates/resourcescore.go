package predicates

import (
	"unique"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// share is one resource in a score: which, what it weighs and what the pod adds.
type share struct {
	resource sharedResource
	scalar   cluster.ScalarName
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

// of returns how much of the resource is taken and offered on a node.
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
	case requestedScalar:
	}
	return n.Requested.Scalar(s.scalar), n.Allocatable.Scalar(s.scalar)
}

// shares prepares the resources of a score for a pod that adds so much to a node.
// With defaults, CPU and memory on the node count containers that ask for nothing
// as if they asked for a little. Scalar resources count only for pods that ask for
// them (pkg/scheduler/framework/plugins/noderesources/resource_allocation.go).
func shares(specs []config.ResourceSpec, adds *cluster.Resources, defaults bool) []share {
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
			s.resource, s.scalar = requestedScalar, unique.Make(name)
			if s.adds = adds.Scalar(s.scalar); s.adds == 0 {
				continue
			}
		}
		counting = append(counting, s)
	}
	return counting
}
