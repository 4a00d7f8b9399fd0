// Package devices has nodes of a real control plane offer devices, and pods claim them: nobody but a ResourceSlice says
// that there are any.
package devices

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/workload"
)

// Names of what there is of devices.
const (
	Driver   = "gpu.example.com"
	Class    = "gpu"
	Resource = corev1.ResourceName("example.com/gpu") // which the class stands for
)

// TemplateOf names the template of claims for a number of devices.
func TemplateOf(count int64) string { return fmt.Sprintf("gpus-%d", count) }

// Define creates the class, and templates of claims for one device up to a number.
func Define(ctx context.Context, client kubernetes.Interface, most int64) error {
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: Class},
		Spec: resourcev1.DeviceClassSpec{
			ExtendedResourceName: new(string(Resource)),
			Selectors: []resourcev1.DeviceSelector{
				{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + Driver + `"`}},
			},
		},
	}
	_, err := client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
	for count := range most {
		template := &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: TemplateOf(count + 1), Namespace: workload.Namespace},
			Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: Some(count + 1)},
		}
		_, made := client.ResourceV1().ResourceClaimTemplates(workload.Namespace).Create(ctx, template, metav1.CreateOptions{})
		err = errors.Join(err, made)
	}
	return err
}

// Some returns the request of a claim for a number of devices.
func Some(count int64) resourcev1.ResourceClaimSpec {
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: exactly}},
	}}
}

// Offer has a node have a number of devices: gpu-0, gpu-1, … of a pool that is called like the node.
func Offer(ctx context.Context, client kubernetes.Interface, node string, count int64) error {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "gpus-of-" + node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for i := range count {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	_, err := client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
	return err
}

// Claim gives a pod a claim of its own for a number of devices.
func Claim(pod *corev1.PodSpec, count int64) {
	pod.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new(TemplateOf(count))}}
	pod.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
}

// Held are the allocated claims.
func Held(ctx context.Context, client kubernetes.Interface) (held []resourcev1.ResourceClaim, err error) {
	claims, err := client.ResourceV1().ResourceClaims(workload.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range claims.Items {
		if claims.Items[i].Status.Allocation != nil {
			held = append(held, claims.Items[i])
		}
	}
	return held, nil
}

// Clear deletes all that there is of devices.
func Clear(ctx context.Context, client kubernetes.Interface) error {
	api, all := client.ResourceV1(), metav1.ListOptions{}
	return errors.Join(
		ClearClaims(ctx, client),
		api.ResourceClaimTemplates(workload.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		api.ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		api.DeviceClasses().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
	)
}

// ClearClaims deletes all claims. No kubelet is there that would let go of the claims of pods that ran.
func ClearClaims(ctx context.Context, client kubernetes.Interface) error {
	claims, all := client.ResourceV1().ResourceClaims(workload.Namespace), metav1.ListOptions{}
	list, err := claims.List(ctx, all)
	if err != nil {
		return err
	}
	var failed []error
	for i := range list.Items {
		_, err := claims.Patch(ctx, list.Items[i].Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, claims.DeleteCollection(ctx, metav1.DeleteOptions{}, all))...)
}
