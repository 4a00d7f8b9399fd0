package conformance

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"muster.dev/muster/cluster"
)

// Devices are of two drivers. Pods also ask for devices of the first driver as for an extended resource.
const (
	gpuDriver = "gpu.example.com"
	nicDriver = "nic.example.com"

	deviceResource = "example.com/device" // that classes stand for, and some nodes offer themselves
)

func deviceDrivers() []string { return []string{gpuDriver, gpuDriver, nicDriver} }

func deviceClassNames() []string { return []string{"gpu", "large-gpu", "nic", "any"} }

func claimNames() []string {
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("claim-%d", i))
	}
	return names
}

// offerDevices has some nodes offer by a device plugin what devices stand for.
func offerDevices(s *source, node *corev1.Node) {
	if s.chance(20) && node.Status.Allocatable != nil {
		node.Status.Allocatable[deviceResource] = resource.MustParse(one(s, "0", "1", "3"))
	}
}

// useDevices gives a pod claims, or has it ask for devices as for an extended resource.
func useDevices(s *source, pod *corev1.Pod) {
	for s.chance(25) {
		name := one(s, claimNames()...)
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{
			Name: fmt.Sprintf("devices-%d", len(pod.Spec.ResourceClaims)), ResourceClaimName: &name,
		})
	}
	if s.chance(10) { // made by its template, or not yet, or for none
		claim := corev1.PodResourceClaim{Name: "made", ResourceClaimTemplateName: new("template")}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, claim)
		switch {
		case s.chance(60):
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{
				Name: claim.Name, ResourceClaimName: new(one(s, claimNames()...)),
			})
		case s.chance(40):
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: claim.Name})
		}
	}
	for _, container := range containers(pod) {
		if s.chance(10) {
			if container.Resources.Requests == nil {
				container.Resources.Requests = corev1.ResourceList{}
			}
			name := one(s, corev1.ResourceName(deviceResource), deviceResource, corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+"nic"))
			container.Resources.Requests[name] = resource.MustParse(one(s, "0", "1", "1", "2"))
		}
	}
}

// drawDevices draws the devices of nodes and of none, their classes, and claims.
func drawDevices(s *source, to *Objects) {
	for _, name := range several(s, 4, deviceClassNames()...) {
		to.DeviceClasses = append(to.DeviceClasses, s.deviceClass(name))
	}
	nodes := mostNodes
	if s.large || s.chance(1) {
		nodes = mostNodesSeldom
	}
	for i := range nodes {
		for s.chance(60) {
			s.pool(fmt.Sprintf("pool-%d-%d", i, len(to.ResourceSlices)), func(spec *resourcev1.ResourceSliceSpec) {
				spec.NodeName = new(nodeName(i))
			}, to)
		}
	}
	if s.chance(30) {
		s.pool("network", func(spec *resourcev1.ResourceSliceSpec) {
			if s.chance(50) {
				spec.AllNodes = new(true)
				return
			}
			spec.NodeSelector = labelled(zoneLabel, corev1.NodeSelectorOpIn, one(s, "a", "b"))
		}, to)
	}
	for s.chance(15) {
		to.DeviceTaintRules = append(to.DeviceTaintRules, s.taintRule(fmt.Sprintf("rule-%d", len(to.DeviceTaintRules)), to))
	}
	for _, name := range claimNames() {
		for _, namespace := range namespaceNames() {
			if s.chance(90) {
				to.ResourceClaims = append(to.ResourceClaims, s.resourceClaim(name, namespace, to.ResourceSlices))
			}
		}
	}
}

func (s *source) deviceClass(name string) *resourcev1.DeviceClass {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.Unix(int64(s.upTo(2)), 0),
	}}
	expression := map[string]string{
		"gpu": `device.driver == "gpu.example.com"`, "nic": `device.driver == "nic.example.com"`,
		"large-gpu": `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].index >= 1`,
	}[name]
	if expression != "" {
		class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
	}
	// A class that loses the name of a resource to another one may lose its implicit one, too, by the order of events
	// (updateResourceName2class in extendedresourcecache).
	if name != "nic" {
		class.Spec.ExtendedResourceName = maybe(s, 50, deviceResource)
	}
	return class
}

// pool draws the slices of a pool, all of them or not, and some of an older generation.
func (s *source) pool(name string, where func(*resourcev1.ResourceSliceSpec), to *Objects) {
	driver := one(s, deviceDrivers()...)
	spec := resourcev1.ResourceSliceSpec{
		Driver: driver, Pool: resourcev1.ResourcePool{Name: name, Generation: int64(s.upTo(1)), ResourceSliceCount: one(s, int64(1), 1, 1, 1, 2)},
	}
	where(&spec)
	partitioned := s.chance(15)
	if partitioned {
		spec.Pool.ResourceSliceCount = 2
		counters := spec
		counters.SharedCounters = []resourcev1.CounterSet{{
			Name: "memory", Counters: map[string]resourcev1.Counter{"bytes": {Value: resource.MustParse(one(s, "2Gi", "4Gi"))}},
		}}
		to.ResourceSlices = append(to.ResourceSlices, &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "slice-of-" + name + "-counters"}, Spec: counters,
		})
	}
	for i := range 1 + s.upTo(3) {
		spec.Devices = append(spec.Devices, s.device(driver, i, partitioned))
	}
	to.ResourceSlices = append(
		to.ResourceSlices,
		&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice-of-" + name}, Spec: spec},
	)
}

// taintRule draws a rule for some devices, or none.
func (s *source) taintRule(name string, to *Objects) *cluster.DeviceTaintRule {
	rule := &cluster.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cluster.DeviceTaintRuleSpec{
		Taint: s.deviceTaint(),
	}}
	if s.chance(90) {
		by := &cluster.DeviceTaintSelector{Driver: maybe(s, 60, deviceDrivers()...), Device: maybe(s, 30, "device-1")}
		if s.chance(60) && len(to.ResourceSlices) > 0 {
			by.Pool = new(one(s, to.ResourceSlices...).Spec.Pool.Name)
		}
		rule.Spec.DeviceSelector = by
	}
	return rule
}

func (s *source) deviceTaint() resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{
		Key: "example.com/unhealthy", Value: "yes",
		Effect: one(s, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone),
	}
}

func (s *source) device(driver string, i int, partitioned bool) resourcev1.Device {
	device := resourcev1.Device{
		Name: fmt.Sprintf("device-%d", i),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"index": {IntValue: new(int64(i))}, "example.com/rack": {StringValue: new(one(s, "x", "y"))},
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(one(s, "8Gi", "16Gi"))}},
	}
	if driver == nicDriver {
		device.AllowMultipleAllocations = maybe(s, 40, true)
	}
	if s.chance(15) {
		device.Taints = []resourcev1.DeviceTaint{s.deviceTaint()}
	}
	if partitioned {
		device.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{
			CounterSet: "memory", Counters: map[string]resourcev1.Counter{"bytes": {Value: resource.MustParse(one(s, "1Gi", "2Gi"))}},
		}}
	}
	return device
}

// resourceClaim draws a claim, which may be allocated.
func (s *source) resourceClaim(name, namespace string, slices []*resourcev1.ResourceSlice) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID(fmt.Sprint(namespace, "/", name, "/", s.upTo(1))), // a remade one has another
	}}
	if s.chance(30) {
		owner := fmt.Sprintf("pending-%d", s.upTo(pendingPods-1))
		claim.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: owner, UID: types.UID(owner), Controller: new(true)},
		}
	}
	if s.chance(3) {
		claim.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_700_000_000, 0)}
	}
	for i := range 1 + s.upTo(1) {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, s.deviceRequest(i))
	}
	if s.chance(15) {
		claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{
			{MatchAttribute: new(resourcev1.FullyQualifiedName(one(s, "example.com/rack", "gpu.example.com/index")))},
		}
	}
	if s.chance(25) && len(slices) > 0 {
		s.allocate(claim, one(s, slices...))
	}
	return claim
}

func (s *source) deviceRequest(i int) resourcev1.DeviceRequest {
	request := resourcev1.DeviceRequest{Name: fmt.Sprintf("request-%d", i)}
	if s.chance(20) {
		for j := range 1 + s.upTo(1) {
			request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
				Name: fmt.Sprintf("sub-%d", j), DeviceClassName: one(s, deviceClassNames()...),
				AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: one(s, int64(1), 2, 5), Selectors: s.deviceSelectors(),
			})
		}
		return request
	}
	exactly := &resourcev1.ExactDeviceRequest{
		DeviceClassName: one(s, deviceClassNames()...), AllocationMode: resourcev1.DeviceAllocationModeExactCount,
		Count: one(s, int64(1), 1, 1, 2, 3), Selectors: s.deviceSelectors(), AdminAccess: maybe(s, 10, true),
	}
	if s.chance(10) {
		exactly.AllocationMode, exactly.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	if s.chance(20) {
		exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "example.com/unhealthy", Operator: resourcev1.DeviceTolerationOpExists}}
	}
	if s.chance(10) {
		exactly.Capacity = &resourcev1.CapacityRequirements{
			Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(one(s, "4Gi", "8Gi", "12Gi"))},
		}
	}
	request.Exactly = exactly
	return request
}

// deviceSelectors draws a selector, or none. The selector may fail.
func (s *source) deviceSelectors() []resourcev1.DeviceSelector {
	if s.chance(70) {
		return nil
	}
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: one(
		s, `device.attributes["example.com"].rack == "x"`, `device.attributes["example.com"].rack == "y"`,
		`device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0`, `"gpu.example.com" in device.attributes`, `true`,
	)}}}
}

// allocate has a claim hold devices of a slice.
func (s *source) allocate(claim *resourcev1.ResourceClaim, slice *resourcev1.ResourceSlice) {
	allocation := &resourcev1.AllocationResult{}
	if slice.Spec.NodeName != nil {
		named := corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{*slice.Spec.NodeName},
		}
		allocation.NodeSelector = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{named}}},
		}
	}
	for _, device := range several(s, 2, slice.Spec.Devices...) {
		result := resourcev1.DeviceRequestAllocationResult{
			Request: "request-0", Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: device.Name, AdminAccess: maybe(s, 10, true),
		}
		if ptr.Deref(device.AllowMultipleAllocations, false) {
			result.ShareID = new(claim.UID + "/" + types.UID(device.Name))
			result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(one(s, "4Gi", "8Gi"))}
		}
		allocation.Devices.Results = append(allocation.Devices.Results, result)
	}
	claim.Status.Allocation = allocation
}
