package gangfaults

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

const (
	deviceDriver = "gpu.example.com"
	deviceClass  = "gpu"
	// deviceLabel says on a node how many devices it has.
	deviceLabel = "example.com/devices"
	// mostDevices is how many a node has at most, mostClaimed a pod.
	mostDevices, mostClaimed = 4, 2
)

// writeDevices writes the script of a seed for nodes with devices, which members of some gangs claim.
func writeDevices(seed uint64) *script {
	to := setupOf(seed)
	to.devices = true
	return draw(seed, to, (*writer).addFaults)
}

// offerDevices draws how many devices a node has.
func (w *writer) offerDevices(node *corev1.Node) {
	if w.setup.devices {
		node.Labels[deviceLabel] = strconv.Itoa(1 + w.rand.IntN(mostDevices))
	}
}

// claimDevices draws how many devices a member of a gang claims.
func (w *writer) claimDevices(g *gang) {
	if w.setup.devices {
		g.devices = []int64{0, 1, 1, 1, 2}[w.rand.IntN(5)]
	}
}

func templateOf(devices int64) string { return fmt.Sprintf("devices-%d", devices) }

// claimDevices has a pod claim devices.
func claimDevices(pod *corev1.Pod, devices int64) {
	if devices == 0 {
		return
	}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "devices", ResourceClaimTemplateName: new(templateOf(devices))}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "devices"}}
}

// createDevices creates a class of devices, and templates of claims for some.
func (l *lane) createDevices(ctx context.Context) error {
	api := l.Client.ResourceV1()
	_, err := api.DeviceClasses().Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: deviceClass},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + deviceDriver + `"`}},
		}},
	}, metav1.CreateOptions{})
	err = faultcampaign.UnlessDone(err, "create device class", deviceClass)
	for devices := range int64(mostClaimed) {
		exactly := &resourcev1.ExactDeviceRequest{
			DeviceClassName: deviceClass, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: devices + 1,
		}
		template := &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: templateOf(devices + 1), Namespace: workload.Namespace},
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{Name: "devices", Exactly: exactly}},
			}}},
		}
		_, made := api.ResourceClaimTemplates(workload.Namespace).Create(ctx, template, metav1.CreateOptions{})
		err = errors.Join(err, faultcampaign.UnlessDone(made, "create template", template.Name))
	}
	return err
}

// createSlices creates the devices of the nodes of a run. They outlive their nodes, as those of a machine that comes back.
func (l *lane) createSlices(ctx context.Context, nodes []*corev1.Node) error {
	for _, node := range nodes {
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "devices-of-" + node.Name},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: deviceDriver, NodeName: &node.Name, Pool: resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: 1},
			},
		}
		for i := range devicesOf(node) {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
		}
		_, err := l.Client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		if err := faultcampaign.UnlessDone(err, "create resource slice", slice.Name); err != nil {
			return err
		}
	}
	return nil
}

func devicesOf(node *corev1.Node) int64 {
	devices, err := strconv.ParseInt(node.Labels[deviceLabel], 10, 64)
	if err != nil {
		return 0 // it has none
	}
	return devices
}

// clearClaims deletes the claims of a run. No kubelet is there that would let go of those of pods that ran.
func (l *lane) clearClaims(ctx context.Context, how metav1.DeleteOptions, all metav1.ListOptions) error {
	claims := l.Client.ResourceV1().ResourceClaims(workload.Namespace)
	list, err := claims.List(ctx, all)
	if err != nil {
		return err
	}
	for i := range list.Items {
		_, err := claims.Patch(ctx, list.Items[i].Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err := faultcampaign.UnlessDone(err, "free claim", list.Items[i].Name); err != nil {
			return err
		}
	}
	return claims.DeleteCollection(ctx, how, all)
}

// countDevices has an object say of devices what it says of other resources, for a judge that knows those alone: a node that
// it offers them, and a pod that it asks for them.
func countDevices(object any) any {
	switch o := object.(type) {
	case *corev1.Node:
		if devices := devicesOf(o); devices > 0 {
			o = o.DeepCopy()
			o.Status.Allocatable[deviceLabel] = *resource.NewQuantity(devices, resource.DecimalSI)
		}
		return o
	case *corev1.Pod:
		if devices := devicesClaimedBy(o); devices > 0 {
			o = o.DeepCopy()
			o.Spec.Containers[0].Resources.Requests[deviceLabel] = *resource.NewQuantity(devices, resource.DecimalSI)
		}
		return o
	}
	return object
}

func devicesClaimedBy(pod *corev1.Pod) int64 {
	for _, claim := range pod.Spec.ResourceClaims {
		for devices := range int64(mostClaimed) {
			if claim.ResourceClaimTemplateName != nil && *claim.ResourceClaimTemplateName == templateOf(devices+1) {
				return devices + 1
			}
		}
	}
	return 0
}
