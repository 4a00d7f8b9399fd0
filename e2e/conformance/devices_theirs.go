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
