package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
)

// taintWorld draws slices and rules. All that match have the same few names.
func taintWorld(draw *rand.Rand) (slices []*resourcev1.ResourceSlice, rules []*resourcev1.DeviceTaintRule) {
	name := func(of string) string { return fmt.Sprint(of, draw.IntN(2)) }
	maybe := func(of string) *string {
		if draw.IntN(2) == 0 {
			return nil
		}
		return new(name(of))
	}
	for i := range 1 + draw.IntN(4) {
		slice := sliceOf(fmt.Sprint("slice", i), name("pool"), fmt.Sprint("node", i))
		slice.Spec.Driver = name("driver")
		for j := range draw.IntN(3) {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("device", j)})
		}
		slices = append(slices, slice)
	}
	for i := range draw.IntN(4) {
		rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("rule", i)}}
		rule.Spec.Taint = resourcev1.DeviceTaint{Key: name("key"), Value: fmt.Sprint(i), Effect: resourcev1.DeviceTaintEffectNoSchedule}
		if draw.IntN(8) > 0 {
			rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{Driver: maybe("driver"), Pool: maybe("pool"), Device: maybe("device")}
		}
		rules = append(rules, rule)
	}
	return slices, rules
}

// trackedTaints are the taints of devices as the tracker has them that kube-scheduler uses, by slice and device.
func trackedTaints(t *testing.T, objects []runtime.Object) map[string]int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	tracked, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          factory.Resource().V1().ResourceSlices(),
		TaintInformer:          factory.Resource().V1().DeviceTaintRules(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tracked.Stop()
	factory.Start(ctx.Done())
	<-tracked.HasSyncedChecker().Done()
	slices, err := tracked.ListPatchedResourceSlices()
	if err != nil {
		t.Fatal(err)
	}
	return taintsOf(slices)
}

func taintsOf(slices []*resourcev1.ResourceSlice) map[string]int {
	taints := map[string]int{}
	for _, slice := range slices {
		for _, device := range slice.Spec.Devices {
			for _, taint := range device.Taints {
				taints[slice.Name+"/"+device.Name+": "+taint.Key+"="+taint.Value]++
			}
		}
	}
	return taints
}

func TestRulesTaintDevicesAsForKubeScheduler(t *testing.T) {
	found := 0
	for seed := range uint64(100) {
		slices, rules := taintWorld(rand.New(rand.NewPCG(seed, seed)))
		c := newCluster(t)
		var objects []runtime.Object
		for i, slice := range slices {
			objects = append(objects, slice.DeepCopy())
			set(t, c, nodeObject(fmt.Sprint("node", i)))
		}
		for _, rule := range rules {
			objects = append(objects, rule.DeepCopy())
		}
		order := rand.New(rand.NewPCG(seed, 1))
		order.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		passing := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "passing"}}
		passing.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
		set(t, c, passing)
		set(t, c, objects...)
		remove(t, c, passing)
		var known []*resourcev1.ResourceSlice
		for node := range c.Snapshot().Nodes() {
			if node.Devices != nil {
				known = append(known, node.Devices.Slices...)
			}
		}
		if shared := c.Snapshot().SharedDevices; shared != nil {
			known = append(known, shared.Slices...)
		}
		want := trackedTaints(t, objects)
		found += len(want)
		if diff := cmp.Diff(want, taintsOf(known)); diff != "" {
			t.Fatalf("seed %d: (-want +got):\n%s", seed, diff)
		}
	}
	if found == 0 {
		t.Error("no device was tainted")
	}
}

func TestARuleThatChangesInStatusOnlyChangesNothing(t *testing.T) {
	c := newCluster(t)
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "rule"}}
	rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
	slice := sliceOf("slice", "pool", "a")
	slice.Spec.Devices = []resourcev1.Device{{Name: "device"}}
	set(t, c, nodeObject("a"), slice, rule)
	before := c.Snapshot()
	if len(before.NodeByName("a").Devices.Slices[0].Spec.Devices[0].Taints) != 1 {
		t.Error("the device is not tainted")
	}
	next := rule.DeepCopy()
	next.Status.Conditions = []metav1.Condition{{Type: resourcev1.DeviceTaintConditionEvictionInProgress}}
	set(t, c, next)
	if c.Snapshot() != before {
		t.Error("there is a new snapshot")
	}
	next = next.DeepCopy()
	next.Spec.Taint.Key = "other"
	set(t, c, next)
	if c.Snapshot().NodeByName("a").Devices.Slices[0].Spec.Devices[0].Taints[0].Key != "other" {
		t.Error("the taint is as it was")
	}
}
