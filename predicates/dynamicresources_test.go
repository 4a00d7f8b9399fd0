package predicates

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

const gpuDriver = "gpu.example.com"

// gpus is the slice of a node with count devices, in a pool of its own.
func gpus(node string, count int, change ...func(*resourcev1.ResourceSlice)) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "slice-of-" + node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: gpuDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for i := range count {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"index": {IntValue: new(int64(i))},
			},
		})
	}
	for _, c := range change {
		c(slice)
	}
	return slice
}

// gpuClass is the class of all devices of the driver. It stands for an extended resource, if one is named.
func gpuClass(name, extended string) *resourcev1.DeviceClass {
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + gpuDriver + `"`}},
		}},
	}
	if extended != "" {
		class.Spec.ExtendedResourceName = &extended
	}
	return class
}

// deviceClaim asks for count devices of a class.
func deviceClaim(name, class string, count int64, change ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name)},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
			},
		}}}},
	}
	for _, c := range change {
		c(claim)
	}
	return claim
}

// holding has devices of a node allocated to the claim, for pods of those UIDs.
func holdingDevices(node string, devices []string, pods ...types.UID) func(*resourcev1.ResourceClaim) {
	return func(claim *resourcev1.ResourceClaim) {
		allocation := &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}},
		}}}
		for _, device := range devices {
			allocation.Devices.Results = append(allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
				Request: "gpus", Driver: gpuDriver, Pool: node, Device: device,
			})
		}
		claim.Status.Allocation = allocation
		for _, pod := range pods {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
				Resource: "pods", Name: string(pod), UID: pod,
			})
		}
	}
}

// using has the pod use a claim of that name.
func using(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
}

// usingTemplate has a pod use a claim that was made for it.
func usingTemplate(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("template")}}
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}}
	}
}

func only(expression string) func(*resourcev1.ResourceClaim) {
	return func(claim *resourcev1.ResourceClaim) {
		claim.Spec.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: expression}},
		}
	}
}

func TestDynamicResources(t *testing.T) {
	const (
		none, elsewhere = "cannot allocate all claims", "resourceclaim not available on the node"
		missing         = "a resourceclaim of the pod is not there"
		index           = `device.attributes["gpu.example.com"].index`
	)
	roomy := func(resources ...string) *corev1.Node {
		return node(offering(append([]string{"cpu", "64", "memory", "256Gi", "pods", "110"}, resources...)...))
	}
	name := roomy().Name
	with := func(objects ...runtime.Object) []runtime.Object {
		return append([]runtime.Object{gpuClass("gpu", "example.com/gpu"), gpus(name, 2)}, objects...)
	}
	generated := func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("template")}}
	}
	leaving := func(claim *resourcev1.ResourceClaim) { claim.DeletionTimestamp = &metav1.Time{} }
	shared := func(slice *resourcev1.ResourceSlice) {
		slice.Spec.NodeName, slice.Spec.AllNodes, slice.Name = nil, new(true), "slice-of-all"
		slice.Spec.Pool.Name = "shared"
	}
	checkVerdicts(t, config.DynamicResources, []verdictCase{
		{name: "a pod without claims fits everywhere", everywhere: true},
		{
			name: "so does one that asks for what no class stands for", everywhere: true,
			scene: scene{pod: pod(asking("example.com/fpga", "1")), objects: with()},
		},
		{name: "as many devices as there are", scene: scene{pod: pod(using("two")), objects: with(deviceClaim("two", "gpu", 2))}},
		{name: "more than there are", scene: scene{pod: pod(using("three")), objects: with(deviceClaim("three", "gpu", 3))}, reason: none},
		{
			name:   "two claims take what there is together",
			scene:  scene{pod: pod(using("two"), using("one")), objects: with(deviceClaim("two", "gpu", 2), deviceClaim("one", "gpu", 1))},
			reason: none,
		},
		{
			name:  "a selector that one device meets",
			scene: scene{pod: pod(using("one")), objects: with(deviceClaim("one", "gpu", 1, only(index+"== 1")))},
		},
		{
			name:   "a selector that none meets",
			scene:  scene{pod: pod(using("one")), objects: with(deviceClaim("one", "gpu", 1, only(index+"== 2")))},
			reason: none,
		},
		{
			name:   "a selector that fails",
			scene:  scene{pod: pod(using("one")), objects: with(deviceClaim("one", "gpu", 1, only(index+".none == 2")))},
			reason: none,
		},
		{
			name: "what another claim holds is not free",
			scene: scene{
				pod:     pod(using("two")),
				objects: with(deviceClaim("two", "gpu", 2), deviceClaim("other", "gpu", 1, holdingDevices(name, []string{"gpu-0"}))),
			},
			reason: none,
		},
		{
			name: "the rest is",
			scene: scene{
				pod:     pod(using("one")),
				objects: with(deviceClaim("one", "gpu", 1), deviceClaim("other", "gpu", 1, holdingDevices(name, []string{"gpu-0"}))),
			},
		},
		{
			name: "a pod that is on its way has its devices",
			scene: scene{
				coming: []*corev1.Pod{pod(using("other"))}, pod: pod(using("two")),
				objects: with(deviceClaim("two", "gpu", 2), deviceClaim("other", "gpu", 1)),
			},
			reason: none,
		},
		{
			name: "two on their way that share a claim have them once",
			scene: scene{
				coming: []*corev1.Pod{pod(using("other")), pod(using("other"))}, pod: pod(using("one")),
				objects: with(deviceClaim("one", "gpu", 1), deviceClaim("other", "gpu", 1)),
			},
		},
		{
			name: "a claim that is allocated here",
			scene: scene{
				pod: pod(using("two")), objects: with(deviceClaim("two", "gpu", 2, holdingDevices(name, []string{"gpu-0", "gpu-1"}, "asked"))),
			},
		},
		{
			name: "one that is allocated elsewhere",
			scene: scene{
				pod: pod(using("two")), objects: with(gpus("b", 2), deviceClaim("two", "gpu", 2, holdingDevices("b", []string{"gpu-0", "gpu-1"}))),
			},
			reason: elsewhere,
		},
		{
			name: "where there is nothing of devices no claim is missed: muster may not read them", everywhere: true,
			scene: scene{pod: pod(using("one"))},
		},
		{name: "a claim that is not there", scene: scene{pod: pod(using("one")), objects: with()}, reason: missing},
		{name: "one that has yet to be made", scene: scene{pod: pod(generated), objects: with()}, reason: missing},
		{
			name:   "one that is being deleted",
			scene:  scene{pod: pod(using("one")), objects: with(deviceClaim("one", "gpu", 1, leaving))},
			reason: "a resourceclaim of the pod is being deleted",
		},
		{
			name: "one that somebody else made",
			scene: scene{pod: pod(generated, func(p *corev1.Pod) {
				p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("one")}}
			}), objects: with(deviceClaim("one", "gpu", 1))},
			reason: "a resourceclaim was not created for the pod",
		},
		{
			name:   "a class that is not there",
			scene:  scene{pod: pod(using("one")), objects: with(deviceClaim("one", "fpga", 1))},
			reason: "a device class does not exist",
		},
		{
			name:  "devices of all nodes",
			scene: scene{pod: pod(using("three")), objects: with(gpus("", 1, shared), deviceClaim("three", "gpu", 3))},
		},
		{
			name:  "an extended resource that a class stands for",
			scene: scene{node: roomy(), pod: pod(asking("example.com/gpu", "2")), objects: with()},
		},
		{
			name:   "more of it than there are devices",
			scene:  scene{node: roomy(), pod: pod(asking("example.com/gpu", "3")), objects: with()},
			reason: none,
		},
		{
			name: "a class stands for a resource of its name",
			scene: scene{
				node: roomy(), pod: pod(asking(resourcev1.ResourceDeviceClassPrefix+"gpu", "3")), objects: with(),
			},
			reason: none,
		},
		{
			name:  "a node that offers the resource itself needs no device",
			scene: scene{node: roomy("example.com/gpu", "3"), pod: pod(asking("example.com/gpu", "3")), objects: with()},
		},
		{
			name:   "nor does it fit where another resource is not offered that no class stands for",
			scene:  scene{node: roomy(), pod: pod(asking("example.com/gpu", "1", "example.com/fpga", "1")), objects: with()},
			reason: "cannot fit resource",
		},
		{
			name: "one on its way has its devices for it",
			scene: scene{
				node: roomy(), coming: []*corev1.Pod{pod(asking("example.com/gpu", "1"))}, pod: pod(asking("example.com/gpu", "2")), objects: with(),
			},
			reason: none,
		},
	})
}

func TestNodeResourcesFitLeavesWhatDevicesStandForToThem(t *testing.T) {
	const none = "Insufficient example.com/gpu"
	asks := func(offers ...string) scene {
		return scene{
			node: node(offering(append([]string{"cpu", "64", "memory", "256Gi", "pods", "110"}, offers...)...)),
			pod:  pod(asking("example.com/gpu", "3")),
		}
	}
	backed := func(s scene) scene {
		s.objects = []runtime.Object{gpuClass("gpu", "example.com/gpu")}
		return s
	}
	checkVerdicts(t, config.NodeResourcesFit, []verdictCase{
		{name: "no class stands for it", scene: asks(), reason: none},
		{name: "a class does", scene: backed(asks())},
		{name: "the node offers some itself", scene: backed(asks("example.com/gpu", "2")), reason: none},
		{name: "the node offers enough itself", scene: backed(asks("example.com/gpu", "3"))},
	})
}

// A claim that is not allocated will be where the first of its pods goes: the others have to go there.
func TestPodsThatShareAClaimGoToOneNode(t *testing.T) {
	c := newCluster()
	for _, object := range []runtime.Object{
		gpuClass("gpu", ""), node(offering("cpu", "64", "memory", "256Gi", "pods", "110")), gpus("node", 1),
		deviceClaim("shared", "gpu", 1), pod(using("shared")),
	} {
		if n, is := object.(*corev1.Node); is {
			n.Name = "node"
			other := n.DeepCopy()
			other.Name = "other"
			if err := errors.Join(c.Set(other), c.Set(gpus("other", 1))); err != nil {
				t.Fatal(err)
			}
		}
		if p, is := object.(*corev1.Pod); is {
			p.UID = "first"
			second := p.DeepCopy()
			second.UID, second.Name = "second", "second"
			if err := c.Set(second); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	profile, err := NewProfile(profileWith(config.DynamicResources, nil))
	if err != nil {
		t.Fatal(err)
	}
	store := NewVerdictStore(profile, c, 1<<30, NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
	fits := func() (names []string) {
		view := store.View(c.PendingPod("second"))
		defer view.Close()
		for node := range view.Snapshot.Nodes() {
			if view.Verdict(node.Index) == Fits {
				names = append(names, node.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	if got := fits(); !slices.Equal(got, []string{"node", "other"}) {
		t.Errorf("the first one fits %v", got)
	}
	if err := c.AssumeAll([]*cluster.Pod{c.PendingPod("first")}, c.Snapshot().NodeByName("node")); err != nil {
		t.Fatal(err)
	}
	if got := fits(); !slices.Equal(got, []string{"node"}) {
		t.Errorf("the second one fits %v, want where the first one goes", got)
	}
	c.Release("first")
	if got := fits(); !slices.Equal(got, []string{"node", "other"}) {
		t.Errorf("once the first one goes nowhere, the second one fits %v", got)
	}

	bound := c.PendingPod("first").DeepCopy()
	if err := c.AssumeAll([]*cluster.Pod{c.PendingPod("first")}, c.Snapshot().NodeByName("node")); err != nil {
		t.Fatal(err)
	}
	if got := fits(); !slices.Equal(got, []string{"node"}) {
		t.Errorf("the second one fits %v, want where the first one goes again", got)
	}
	bound.Spec.NodeName = "node"
	if err := c.Set(bound); err != nil {
		t.Fatal(err)
	}
	if got := fits(); !slices.Equal(got, []string{"node", "other"}) {
		t.Errorf("once the first one is bound, by anybody, without that the claim was allocated, the second one fits %v", got)
	}
}

// The knowledge of a class was found out about one of its pods, which may be on a node by now.
func TestPodsOfAClassDoNotGetOneDevice(t *testing.T) {
	c := newCluster()
	objects := []runtime.Object{
		gpuClass(
			"gpu",
			"",
		),
		node(offering("cpu", "64", "memory", "256Gi", "pods", "110"), func(n *corev1.Node) { n.Name = "node" }),
		gpus("node", 1),
	}
	for _, name := range []string{"first", "second"} {
		waits := pod(usingTemplate(name))
		waits.Name, waits.UID = name, types.UID(name)
		objects = append(objects, waits, deviceClaim(name, "gpu", 1, func(claim *resourcev1.ResourceClaim) {
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: waits.UID, Controller: new(true)}}
		}))
	}
	for _, object := range objects {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	cfg := profileWith(config.DynamicResources, nil)
	cfg.Equivalence = config.EquivalenceTemplate
	profile, err := NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	store := NewVerdictStore(profile, c, 1<<30, NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
	fits := func(name types.UID) bool {
		view := store.View(c.PendingPod(name))
		defer view.Close()
		return view.Verdict(view.Snapshot.NodeByName("node").Index) == Fits
	}
	if store.classes.of(c.PendingPod("first")) != store.classes.of(c.PendingPod("second")) {
		t.Error("the pods are not of one class")
	}
	if !fits("first") {
		t.Error("the first one does not fit")
	}
	if err := c.AssumeAll([]*cluster.Pod{c.PendingPod("first")}, c.Snapshot().NodeByName("node")); err != nil {
		t.Fatal(err)
	}
	if fits("second") {
		t.Error("the second one fits beside the first one, and there is one device")
	}
	view := store.ViewWithout(c.PendingPod("first"), "node")
	defer view.Close()
	if view.Verdict(view.Snapshot.NodeByName("node").Index) != Fits {
		t.Error("the first one does not fit where it counts")
	}
}

// What makes a search slow may have passed since, as a machine without a free core.
func TestNodesWhoseDevicesTookTooLongToFindAreAskedAboutAgain(t *testing.T) {
	c, now := newCluster(), testclock.NewFakeClock(time.Now())
	waits := pod(using("claim"))
	for _, object := range []runtime.Object{
		gpuClass("gpu", ""), deviceClaim("claim", "gpu", 1), waits,
		node(offering("cpu", "64", "memory", "256Gi", "pods", "110"), func(n *corev1.Node) { n.Name = "node" }),
	} {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	profile, err := NewProfile(profileWith(config.DynamicResources, nil))
	if err != nil {
		t.Fatal(err)
	}
	store := NewVerdictStore(profile, c, 1<<30, NewStoreMetrics(prometheus.NewRegistry()), now)
	verdict := func(before func(*deviceCheck)) Verdict {
		view := store.View(c.PendingPod(waits.UID))
		defer view.Close()
		for _, check := range view.entry.judgement.checks {
			if devices, is := check.(*sharedClaims); is {
				before(devices.deviceCheck)
			}
		}
		return view.Verdict(view.Snapshot.NodeByName("node").Index)
	}
	none := func(*deviceCheck) {}
	if got := verdict(none); got != devicesUnavailable|hopeless {
		t.Fatalf("without devices: %v", got)
	}
	exhausted := func(d *deviceCheck) { d.lost = mostAllocations }
	verdict(exhausted)
	if err := c.Set(gpus("node", 1)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is asked about when the devices come, and remembered
		if got := verdict(none); got != devicesUndecided|hopeless {
			t.Fatalf("once too many searches took too long: %v", got)
		}
	}
	now.Step(allocationRest)
	if got := verdict(none); got != Fits {
		t.Errorf("a minute later: %v", got)
	}
}

// An init container that ends uses the devices of later containers.
func TestExtendedResourcesOfContainers(t *testing.T) {
	container := func(name, gpus string) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "example.com/gpu": resource.MustParse(gpus)},
		}}
	}
	sidecar := container("sidecar", "2")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	for name, test := range map[string]struct {
		init, containers []corev1.Container
		want             string
	}{
		"containers have their own": {
			nil,
			[]corev1.Container{container("a", "1"), container("b", "2")},
			"[container-0-request-1=1 container-1-request-1=2]",
		},
		"an init container uses them": {
			[]corev1.Container{container("i", "3")},
			[]corev1.Container{container("a", "1"), container("b", "2")},
			"[container-1-request-1=1 container-2-request-1=2]",
		},
		"and has what is missing": {
			[]corev1.Container{container("i", "4"), container("j", "5")},
			[]corev1.Container{container("a", "1")},
			"[container-1-request-1=4 container-2-request-1=1]",
		},
		"a sidecar goes on": {
			[]corev1.Container{sidecar},
			[]corev1.Container{container("a", "1")},
			"[container-0-request-1=2 container-1-request-1=1]",
		},
		"one before a sidecar uses its": {
			[]corev1.Container{container("i", "3"), sidecar},
			[]corev1.Container{container("a", "1")},
			"[container-1-request-1=2 container-2-request-1=1]",
		},
		"one after a sidecar does not use its": {
			[]corev1.Container{sidecar, container("i", "3")},
			[]corev1.Container{container("a", "1")},
			"[container-0-request-1=2 container-1-request-1=2 container-2-request-1=1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := cluster.NewPod(&corev1.Pod{Spec: corev1.PodSpec{InitContainers: test.init, Containers: test.containers}})
			var got []string
			for _, request := range extendedClaim(p, map[corev1.ResourceName]string{"example.com/gpu": "gpu"}).Spec.Devices.Requests {
				got = append(got, fmt.Sprintf("%s=%d", request.Name, request.Exactly.Count))
			}
			if fmt.Sprint(got) != test.want {
				t.Errorf("%v, want %s", got, test.want)
			}
		})
	}
}

// A pod whose claim is not there yet is not like one whose claim is: it would get a place, and take no device there.
func TestPodsAreAlikeIfTheirClaimsAre(t *testing.T) {
	profile, err := NewProfile(profileWith(config.DynamicResources, nil))
	if err != nil {
		t.Fatal(err)
	}
	with := func(problem cluster.ClaimProblem, claims ...*resourcev1.ResourceClaim) *cluster.Pod {
		p := cluster.NewPod(pod(using("gpu")))
		p.Claims, p.ClaimProblem = claims, problem
		return p
	}
	has := with("", deviceClaim("a", "gpu", 1))
	for name, test := range map[string]struct {
		other *cluster.Pod
		alike bool
	}{
		"a claim of another name":   {with("", deviceClaim("b", "gpu", 1)), true},
		"one for more devices":      {with("", deviceClaim("b", "gpu", 2)), false},
		"one that is not there":     {with(cluster.ClaimMissing), false},
		"one that is allocated":     {with("", deviceClaim("a", "gpu", 1, holdingDevices("node", []string{"gpu-0"}))), false},
		"no claim that can be read": {with(""), false},
	} {
		if got := profile.AloneAs(has) == profile.AloneAs(test.other); got != test.alike {
			t.Errorf("%s: alike: %v", name, got)
		}
	}
}
