package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// gpuOf is a node with one device.
func gpuOf(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-of-" + node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu", NodeName: &node, Devices: []resourcev1.Device{{Name: "gpu"}},
			Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
}

// claimMadeFor is a claim for one device that was made for a pod. It holds that of a node, unless it is "".
func claimMadeFor(pod, node string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod + "-gpu", Namespace: "default", UID: types.UID(pod + "-gpu"),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(pod), Controller: new(true)}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
			},
		}}}},
	}
	if node == "" {
		return claim
	}
	claim.Status = resourcev1.ResourceClaimStatus{
		Allocation: &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
				{Request: "gpu", Driver: "gpu", Pool: node, Device: "gpu"},
			}},
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
			}}}},
		},
		ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: types.UID(pod)}},
	}
	return claim
}

// withGPU has a pod use the claim that was made for it.
func withGPU(p *corev1.Pod) {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new(p.Name + "-gpu")}}
}

func TestAMoveIsProvenWithItsDevices(t *testing.T) {
	// x-1 holds the device of a. For p-1 there is room once it goes.
	scene := func(more ...runtime.Object) []runtime.Object {
		return append([]runtime.Object{
			&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, gpuOf("a"), node("a", "4"), node("b", "2"), node("c", "2"),
			claimMadeFor("x-1", "a"), pod("x-1", "a", "1", withGPU),
		}, more...)
	}
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		want    []string
	}{
		{"nobody else has a device", scene(pod("p-1", "", "4")), []string{"default/p-1: " + ReasonNoHomes}},
		{"it goes to where there is one", scene(gpuOf("c"), pod("p-1", "", "4")), []string{"x-1: a → c", "p-1: at a after 1"}},
		{
			"that one is taken", scene(gpuOf("c"), claimMadeFor("other", "c"), pod("p-1", "", "4")),
			[]string{"default/p-1: " + ReasonNoHomes},
		},
		{
			"two cannot have the same one",
			scene(
				gpuOf("c"), gpuOf("d"), node("d", "2"), claimMadeFor("y-1", "d"), pod("y-1", "d", "2", withGPU),
				pod("p-1", "", "4"), pod("q-1", "", "2", unowned),
			),
			[]string{"x-1: a → c", "q-1: at b after 0", "p-1: at a after 1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			s.set(t, test.objects...)
			if diff := cmp.Diff(test.want, said(s.problem(t).MakeRoom(s.groups()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodThatWaitsForADeviceGetsRoomWhereThereIsOne(t *testing.T) {
	s := newScene()
	s.set(t, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, gpuOf("a"), node("a", "4"), node("b", "4"),
		pod("x-1", "a", "3"), claimMadeFor("p-1", ""), pod("p-1", "", "2", withGPU))
	if diff := cmp.Diff([]string{"x-1: a → b", "p-1: at a after 1"}, said(s.problem(t).MakeRoom(s.groups()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
