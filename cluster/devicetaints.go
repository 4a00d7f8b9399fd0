package cluster

import (
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// taintRules are the DeviceTaintRules, by name. They taint devices beside what the ResourceSlices say.
type taintRules map[string]*DeviceTaintRule

// taint returns a slice with the taints that rules lay on its devices: the slice itself, unless there are some
// (applyPatches in k8s.io/dynamic-resource-allocation/resourceslice/tracker).
func (r taintRules) taint(slice *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	tainted := slice
	for _, name := range slices.Sorted(maps.Keys(r)) {
		rule := r[name]
		if !concerns(rule, slice) {
			continue
		}
		for i := range slice.Spec.Devices {
			if of := rule.Spec.DeviceSelector.Device; of != nil && *of != slice.Spec.Devices[i].Name {
				continue
			}
			if tainted == slice {
				tainted = slice.DeepCopy()
			}
			device := &tainted.Spec.Devices[i]
			device.Taints = append(device.Taints, rule.Spec.Taint)
		}
	}
	return tainted
}

// concerns reports whether a rule may taint devices of a slice. A rule without a selector taints none.
func concerns(rule *DeviceTaintRule, slice *resourcev1.ResourceSlice) bool {
	if rule == nil || rule.Spec.DeviceSelector == nil {
		return false
	}
	driver, pool := rule.Spec.DeviceSelector.Driver, rule.Spec.DeviceSelector.Pool
	return (driver == nil || *driver == slice.Spec.Driver) && (pool == nil || *pool == slice.Spec.Pool.Name)
}
