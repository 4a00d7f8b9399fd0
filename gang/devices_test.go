package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/gang/core"
)

// claiming has a pod name a claim that is called as it is.
func claiming(pod *corev1.Pod) {
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &pod.Name}}
}

// devices is a class, and a device of each of some nodes.
func devices(nodes ...string) []runtime.Object {
	objects := []runtime.Object{&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
	for _, node := range nodes {
		objects = append(objects, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}})
	}
	return objects
}

// claimOf is a claim for one device.
func claimOf(pod *corev1.Pod) *resourcev1.ResourceClaim {
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID + "-claim"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: exactly}},
		}},
	}
}

func TestAGangWaitsForTheClaimsOfItsMembers(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "8"), node("b", "8"), podGroup("g", 2))
		p.set(devices("a", "b")...)
		pods := members("g", 2, "1", claiming)
		p.set(objects(pods)...)
		awaits := func(want string) {
			t.Helper()
			p.after(time.Second)
			if got := p.filter(pods[0]); got != core.ReasonSiblings {
				t.Errorf("it is told %q", got)
			}
			if got := p.why("g"); got != want {
				t.Errorf("it waits because: %s\nwant: %s", got, want)
			}
		}
		awaits("waiting for 2 more of 2 members: 2 without their ResourceClaims")
		p.set(claimOf(pods[0]))
		awaits("waiting for 1 more of 2 members: 1 without their ResourceClaims")
		p.delete(pods[1])
		awaits("waiting for 1 more of 2 members to be created")
		p.set(pods[1], claimOf(pods[1]))
		for _, call := range p.start(pods...) {
			if call.held() || call.err != nil {
				t.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}

func TestWhatAGangLacksIsSaid(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "8"), podGroup("g", 4))
		p.set(devices("a")...)
		p.set(objects(members("g", 2, "1", claiming))...)
		p.set(members("g", 3, "1")[2])
		p.after(time.Second)
		want := "waiting for 3 more of 4 members: 1 to be created, 2 without their ResourceClaims"
		if got := p.why("g"); got != want {
			t.Errorf("it waits because: %s\nwant: %s", got, want)
		}
	})
}

func TestTheSchedulerIsToldOfPlacesSoonerWhereDevicesAreClaimed(t *testing.T) {
	run(t, func(p *process) {
		p.limit(func(l *Limits) { l.Few, l.FewOfDevices = 2, 1 })
		p.set(node("a", "8"), node("b", "8"), podGroup("g", 2), podGroup("h", 2))
		p.set(devices("a", "b")...)
		p.set(objects(members("g", 2, "1"))...)
		pods := members("h", 2, "1", claiming)
		p.set(claimOf(pods[0]), claimOf(pods[1]))
		p.set(objects(pods)...)
		p.after(time.Second)
		var told []string
		for _, pod := range pods {
			told = append(told, "nominate "+pod.Name+" a", "nominate "+pod.Name+" b")
		}
		writes := p.written()
		if len(writes) != 2 || slices.ContainsFunc(writes, func(w string) bool { return !slices.Contains(told, w) }) {
			t.Errorf("the scheduler looks at two nodes, and is told %v", writes)
		}
	})
}

func TestTwoMembersDoNotGetOneDevice(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "8"), node("b", "8"), podGroup("g", 2))
		p.set(devices("a")...)
		pods := members("g", 2, "1", claiming)
		p.set(claimOf(pods[0]), claimOf(pods[1]))
		p.set(objects(pods)...)
		p.after(time.Second)
		if got := p.filter(pods[0]); got != core.ReasonNoPlace {
			t.Errorf("it is told %q", got)
		}
		if got, want := p.why("g"), "places for 1 of 2 members"; !strings.HasPrefix(got, want) {
			t.Errorf("it waits because: %s\nwant: %s", got, want)
		}
		p.set(devices("b")...)
		p.after(5 * time.Second)
		for _, call := range p.start(pods...) {
			if call.held() || call.err != nil {
				t.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
	})
}
