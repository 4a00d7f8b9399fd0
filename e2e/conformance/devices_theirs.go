package conformance

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
	"k8s.io/utils/ptr"
)

// claimsOnce is an informer that tells of some claims, and of nothing else.
type claimsOnce struct {
	claims []*resourcev1.ResourceClaim
	to     cache.ResourceEventHandler
}

// AddEventHandler implements assumecache.Informer.
func (c *claimsOnce) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	c.to = handler
	return nil, nil
}

func (c *claimsOnce) tell() {
	for _, claim := range c.claims {
		c.to.OnAdd(claim, true)
	}
}

// tainted are the objects with ResourceSlices as the tracker of kube-scheduler makes them of DeviceTaintRules. It works
// by itself, some time after each event, so it is spared; a test of package cluster holds muster against it.
func (o *Objects) tainted() *Objects {
	tainted := *o
	tainted.ResourceSlices = nil
	for _, slice := range o.ResourceSlices {
		slice = slice.DeepCopy()
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			for _, rule := range o.DeviceTaintRules {
				by := rule.Spec.DeviceSelector
				if by != nil && ptr.Deref(by.Driver, slice.Spec.Driver) == slice.Spec.Driver &&
					ptr.Deref(by.Pool, slice.Spec.Pool.Name) == slice.Spec.Pool.Name && ptr.Deref(by.Device, device.Name) == device.Name {
					device.Taints = append(device.Taints, rule.Spec.Taint)
				}
			}
		}
		tainted.ResourceSlices = append(tainted.ResourceSlices, slice)
	}
	return &tainted
}

// devices is what kube-scheduler's plugins know of devices: the objects of a scenario.
func (o *Objects) devices(factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	ctx := context.Background() // nothing is started with it
	claims := &claimsOnce{claims: o.ResourceClaims}
	known := assumecache.NewAssumeCache(klog.FromContext(ctx), claims, "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: factory.Resource().V1().ResourceSlices()})
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, known, slices, factory)
	claims.tell()
	if resolver, follows := manager.DeviceClassResolver().(cache.ResourceEventHandler); follows {
		for _, class := range o.DeviceClasses {
			resolver.OnAdd(class, true)
		}
	}
	return manager, nil
}
