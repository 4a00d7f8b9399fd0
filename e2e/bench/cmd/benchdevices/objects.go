package main

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

const (
	driver   = "gpu.example.com"
	class    = "gpu"
	template = "one-gpu"
)

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

func node(i int) *corev1.Node { return workload.NewNode(nodeName(i), "64", workload.Room(256, 110)) }

// slice is all devices of a node.
func slice(i int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "gpus-of-" + nodeName(i)},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: new(nodeName(i)),
			Pool: resourcev1.ResourcePool{Name: nodeName(i), Generation: 1, ResourceSliceCount: 1},
		},
	}
	for j := range devicesPerNode {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name:       deviceName(j),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"index": {IntValue: new(int64(j))}},
		})
	}
	return s
}

func deviceName(j int) string { return fmt.Sprintf("gpu-%d", j) }

func deviceClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}},
		}},
	}
}

func oneDevice() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
		},
	}}}}
}

func claimTemplate() *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: template, Namespace: workload.Namespace},
		Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: oneDevice()},
	}
}

// heldBy is a claim that holds a device of a node.
func heldBy(node, device int) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("held-%d-%d", node, device), Namespace: workload.Namespace, UID: types.UID(fmt.Sprintf("held-%d-%d", node, device)),
		},
		Spec: oneDevice(),
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
				{Request: "gpu", Driver: driver, Pool: nodeName(node), Device: deviceName(device)},
			}},
		}},
	}
}

const jobName = "ring"

// job is whose the pods are. It is suspended: they are made for it.
func job() *batchv1.Job {
	template := corev1.PodTemplateSpec{Spec: claimingPod("").Spec}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: jobName, Namespace: workload.Namespace},
		Spec:       batchv1.JobSpec{Suspend: new(true), Template: template},
	}
}

// claimingPod uses a claim that is made by the template.
func claimingPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: workload.Namespace, Labels: map[string]string{measured: ""},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "batch/v1", Kind: "Job", Name: jobName, UID: jobName, Controller: new(true)},
			},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			ResourceClaims:                []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new(template)}},
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
					Claims:   []corev1.ResourceClaim{{Name: "gpu"}},
				},
			}},
		},
	}
}

// measured is a label of the pods that are created here.
const measured = "example.com/measured"
