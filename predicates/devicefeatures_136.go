//go:build kubernetes136

package predicates

import "k8s.io/dynamic-resource-allocation/structured"

// deviceFeatures stands for that of Kubernetes 1.37, where tests compile with the library of 1.36.
func deviceFeatures() structured.Features {
	return structured.Features{
		AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
		DeviceBindingAndStatus: true, ConsumableCapacity: true,
	}
}
