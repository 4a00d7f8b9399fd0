package predicates

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"muster.dev/muster/cluster"
)

// stock is the devices within reach of a node, and which of them are taken.
type stock struct {
	node    *corev1.Node
	slices  []*resourcev1.ResourceSlice
	classes deviceClasses
	state   structured.AllocatedState
	// promised are the claims whose devices are taken ahead of kube-scheduler.
	promised sets.Set[types.UID]
}

// newStock counts as taken what claims hold that are allocated: by the API, or of pods that are supposed to be there.
func newStock(node *cluster.Node, objects *cluster.Objects) *stock {
	s := &stock{
		node: node.Node, classes: deviceClasses{objects.DeviceClasses}, promised: sets.New[types.UID](),
		state: structured.AllocatedState{
			AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity: structured.NewConsumedCapacityCollection(),
		},
	}
	counted := sets.New[types.UID]()
	take := func(claims []*resourcev1.ResourceClaim) {
		for _, claim := range claims {
			if claim.Status.Allocation != nil && !counted.Has(claim.UID) {
				counted.Insert(claim.UID)
				s.take(claim.Status.Allocation)
			}
		}
	}
	for _, devices := range []*cluster.Devices{node.Devices, objects.SharedDevices} {
		if devices != nil {
			s.slices = append(s.slices, devices.Slices...)
			take(devices.Claims)
		}
	}
	for _, pod := range node.Pods {
		take(pod.Claims)
	}
	return s
}

// take counts the devices of an allocation as taken, except devices that it may only administrate
// (foreachAllocatedDevice in pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go).
func (s *stock) take(allocation *resourcev1.AllocationResult) {
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		if ptr.Deref(result.AdminAccess, false) {
			continue
		}
		device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			s.state.AllocatedDevices.Insert(device)
			continue
		}
		s.state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device, result.ShareID))
		if result.ConsumedCapacity != nil {
			s.state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity))
		}
	}
}

var (
	errUnavailable  = errors.New("there are not the devices")
	errTakesTooLong = errors.New("to look for devices takes too long")
)

// allocate finds devices for claims, by the library that kube-scheduler and autoscalers go by. An error says why there are
// none: also a selector that fails.
func (s *stock) allocate(
	claims []*resourcev1.ResourceClaim, compiled *cel.Cache, patience *patience,
) ([]resourcev1.AllocationResult, error) {
	ctx, cancel, err := patience.begin()
	if err != nil {
		return nil, err
	}
	defer cancel()
	allocator, err := structured.NewAllocator(ctx, deviceFeatures(), s.state, s.classes, s.slices, compiled)
	if err != nil {
		return nil, err
	}
	switch results, err := allocator.Allocate(ctx, s.node, claims); {
	case ctx.Err() != nil:
		patience.lost++
		return nil, errTakesTooLong
	case err != nil:
		return nil, err
	case len(results) != len(claims):
		return nil, errUnavailable
	default:
		return results, nil
	}
}

// To find devices may take time that grows with the power of what a claim asks for. No pod waits for such a search for longer than this:
// a few nodes are tried, and then no more for a while.
const (
	allocationTime  = time.Second
	mostAllocations = 3 // that took too long
	allocationRest  = time.Minute
)

// patience is how often it has taken too long, and on which nodes it is not known what devices there are since.
type patience struct {
	lost  int
	nodes sets.Set[int32] // by index
	again time.Time       // zero until somebody waits for it
}

func (p *patience) begin() (context.Context, context.CancelFunc, error) {
	if p.lost >= mostAllocations {
		return nil, nil, errTakesTooLong
	}
	ctx, cancel := context.WithTimeout(context.Background(), allocationTime)
	return ctx, cancel, nil
}

// giveUp leaves a node undecided.
func (p *patience) giveUp(node *cluster.Node) Verdict {
	if p.nodes == nil {
		p.nodes = sets.New[int32]()
	}
	p.nodes.Insert(node.Index)
	return devicesUndecided | hopeless
}

// Retry implements [Undecided].
func (p *patience) Retry(now time.Time) []int32 {
	switch {
	case len(p.nodes) == 0:
		return nil
	case p.again.IsZero():
		p.again = now.Add(allocationRest)
		return nil
	case now.Before(p.again):
		return nil
	}
	nodes := p.nodes.UnsortedList()
	*p = patience{}
	return nodes
}

// deviceClasses is the classes as the library asks for them.
type deviceClasses struct {
	table cluster.Table[string, *resourcev1.DeviceClass]
}

// List implements structured.DeviceClassLister.
func (c deviceClasses) List() ([]*resourcev1.DeviceClass, error) {
	classes := make([]*resourcev1.DeviceClass, 0, c.table.Len())
	for _, class := range c.table.All() {
		classes = append(classes, class)
	}
	return classes, nil
}

// Get implements structured.DeviceClassLister.
func (c deviceClasses) Get(name string) (*resourcev1.DeviceClass, error) {
	if class, there := c.table.Get(name); there {
		return class, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: resourcev1.GroupName, Resource: "deviceclasses"}, name)
}

// wantedOn returns the claims to allocate for a pod on a node: the open claims, and one for the extended
// resources that the node does not offer itself.
func wantedOn(
	node *cluster.Node, pod *cluster.Pod, open []*resourcev1.ResourceClaim, extended map[corev1.ResourceName]string,
) []*resourcev1.ResourceClaim {
	missing := map[corev1.ResourceName]string{}
	for i := range pod.Requests.Scalars {
		name := pod.Requests.Scalars[i].Name
		if class, backed := extended[name.Value()]; backed && node.Allocatable.Scalar(name) == 0 {
			missing[name.Value()] = class
		}
	}
	if len(missing) == 0 {
		return open
	}
	return append(slices.Clip(open), extendedClaim(pod, missing))
}
