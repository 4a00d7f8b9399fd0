package predicates

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// dynamicResources holds pods with ResourceClaims to the nodes that have the devices: an allocated claim to the
// nodes that its allocation is good for, an open one to nodes where it can be allocated beside the claims of
// all pods that are there or on their way (pkg/scheduler/framework/plugins/dynamicresources). It writes
// nothing: kube-scheduler's plugin allocates.
type dynamicResources struct{ compiled *cel.Cache }

// mostCompiled is how many CEL expressions are kept compiled.
const mostCompiled = 1000

func newDynamicResources(*config.Profile) (Predicate, error) {
	return dynamicResources{cel.NewCache(mostCompiled, cel.Features{EnableConsumableCapacity: true})}, nil
}

func (dynamicResources) Name() string { return config.DynamicResources }

func (dynamicResources) Aspects() cluster.Aspect {
	return cluster.AspectDevices | cluster.AspectPods | cluster.AspectAllocatable | cluster.AspectLabels |
		cluster.AspectDeviceClass | cluster.AspectSharedDevices
}

func (p dynamicResources) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	extended := extendedClasses(pod, snap.Objects)
	if len(pod.Spec.ResourceClaims) == 0 && len(extended) == 0 {
		return nil
	}
	d := &deviceCheck{pod: pod, extended: extended, objects: snap.Objects, compiled: p.compiled}
	if d.always = d.prepare(); d.always == Fits && len(d.elsewhere) == 0 && len(d.claims) == 0 && len(d.extended) == 0 {
		return nil
	}
	if d.shared = sharedOf(pod, d.claims); len(d.shared) > 0 {
		return &sharedClaims{deviceCheck: d, users: sets.New[int32]()}
	}
	return d
}

// deviceCheck is dynamicResources for a pod.
type deviceCheck struct {
	pod *cluster.Pod
	// always is the verdict on all nodes, Fits when there is none.
	always Verdict
	// claims are the claims to allocate; elsewhere says where the allocated ones are good for.
	claims    []*resourcev1.ResourceClaim
	elsewhere []*nodeaffinity.NodeSelector
	// shared are the claims that others may use, too.
	shared sets.Set[types.UID]
	// extended are the classes of devices for extended resources that the pod asks for, on nodes that do not offer these.
	extended map[corev1.ResourceName]string

	objects  *cluster.Objects
	compiled *cel.Cache
	patience
}

// prepare sorts the claims, and returns what is against all nodes.
func (d *deviceCheck) prepare() Verdict {
	switch d.pod.ClaimProblem {
	case cluster.ClaimMissing:
		return resourceClaimMissing | hopeless
	case cluster.ClaimLeaves:
		return resourceClaimLeaves | hopeless
	case cluster.ClaimForeign:
		return resourceClaimForeign | hopeless
	}
	for _, claim := range d.pod.Claims {
		allocation := claim.Status.Allocation
		switch {
		case allocation == nil:
			if !hasClasses(claim, d.objects) {
				return deviceClassMissing | hopeless
			}
			d.claims = append(d.claims, claim)
			continue
		case allocation.NodeSelector != nil:
			selector, err := nodeaffinity.NewNodeSelector(allocation.NodeSelector)
			if err != nil {
				return resourceClaimElsewhere | hopeless
			}
			d.elsewhere = append(d.elsewhere, selector)
		}
		if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
			d.extended = nil // kube-scheduler has allocated them
		}
	}
	return Fits
}

// hasClasses reports whether the classes of devices are there that a claim asks for.
func hasClasses(claim *resourcev1.ResourceClaim, objects *cluster.Objects) bool {
	has := func(class string) bool {
		_, there := objects.DeviceClasses.Get(class)
		return there
	}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		switch {
		case request.Exactly != nil && !has(request.Exactly.DeviceClassName), request.Exactly == nil && len(request.FirstAvailable) == 0:
			return false
		case slices.ContainsFunc(request.FirstAvailable, func(r resourcev1.DeviceSubRequest) bool { return !has(r.DeviceClassName) }):
			return false
		}
	}
	return true
}

// Verdict implements [Check].
func (d *deviceCheck) Verdict(node *cluster.Node) Verdict {
	if d.always != Fits {
		return d.always
	}
	for _, selector := range d.elsewhere {
		if !selector.Match(node.Node) {
			return resourceClaimElsewhere | hopeless
		}
	}
	if len(d.extended) > 0 && !d.offersOthers(node) {
		return resourceNotOffered | hopeless
	}
	claims := wantedOn(node, d.pod, d.claims, d.extended)
	if len(claims) == 0 {
		return Fits
	}
	stock := newStock(node, d.objects)
	for _, other := range node.Pods {
		if isComing(other) {
			if err := d.foresee(stock, node, other); errors.Is(err, errTakesTooLong) {
				return d.giveUp(node)
			}
		}
	}
	if len(d.shared) > 0 { // a claim that only one pod has serves no other pod of the class
		claims = slices.DeleteFunc(slices.Clone(claims), func(c *resourcev1.ResourceClaim) bool {
			return d.shared.Has(c.UID) && stock.promised.Has(c.UID)
		})
		if len(claims) == 0 {
			return Fits
		}
	}
	switch _, err := stock.allocate(claims, d.compiled, &d.patience); {
	case errors.Is(err, errTakesTooLong):
		return d.giveUp(node)
	case err != nil:
		return devicesUnavailable | hopeless
	}
	return Fits
}

// offersOthers reports whether a node tells of the other extended resources that a pod asks for beside one that devices stand for,
// be it of none of them (filterExtendedResources).
func (d *deviceCheck) offersOthers(node *cluster.Node) bool {
	for i := range d.pod.Requests.Scalars {
		name := d.pod.Requests.Scalars[i].Name.Value()
		if _, backed := d.extended[name]; backed || !isExtended(name) {
			continue
		}
		if _, offered := node.Status.Allocatable[name]; !offered {
			return false
		}
	}
	return true
}

// isComing reports whether a pod counts on a node and was not bound yet. The claims of one that is bound were allocated before.
func isComing(pod *cluster.Pod) bool { return pod.Spec.NodeName == "" }

// foresee takes out of the stock the devices that a pod on the node will get but has not been allocated yet.
func (d *deviceCheck) foresee(stock *stock, node *cluster.Node, pod *cluster.Pod) error {
	var open []*resourcev1.ResourceClaim
	allocated := false
	for _, claim := range pod.Claims {
		if claim.Status.Allocation == nil && !stock.promised.Has(claim.UID) {
			open = append(open, claim)
		}
		allocated = allocated || claim.Status.Allocation != nil && claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true"
	}
	var extended map[corev1.ResourceName]string
	if !allocated {
		extended = extendedClasses(pod, d.objects)
	}
	wanted := wantedOn(node, pod, open, extended)
	if len(wanted) == 0 {
		return nil
	}
	results, err := stock.allocate(wanted, d.compiled, &d.patience)
	if err != nil {
		return err
	}
	for i, claim := range wanted {
		stock.take(&results[i])
		stock.promised.Insert(claim.UID)
	}
	return nil
}
