//go:build !kubernetes136

package predicates

import "k8s.io/dynamic-resource-allocation/structured"

// deviceFeatures returns the features of device allocation that kube-scheduler turns on by default, beta ones included.
// Where a cluster has one turned off, its API server keeps no object that uses it.
func deviceFeatures() structured.Features {
	return structured.Features{
		AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
		DeviceBindingAndStatus: true, ConsumableCapacity: true, FractionalCapacityRange: true,
	}
}
