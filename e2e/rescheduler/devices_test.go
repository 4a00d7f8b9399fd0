package rescheduler

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
)

const (
	gpuDriver   = "gpu.example.com"
	gpuTemplate = "one-gpu"
)

// claiming gives the pods of a set a claim of their own for one device.
func claiming(template *corev1.PodTemplateSpec) {
	template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new(gpuTemplate)}}
	template.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
}

// createDeviceClass creates a class of devices, and a template of claims for one.
func (l *lab) createDeviceClass() {
	l.Helper()
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + gpuDriver + `"`}},
		}},
	}
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: gpuTemplate, Namespace: namespace},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class.Name}}},
		}}},
	}
	_, classErr := l.client.ResourceV1().DeviceClasses().Create(l.Context(), class, metav1.CreateOptions{})
	_, templateErr := l.client.ResourceV1().ResourceClaimTemplates(namespace).Create(l.Context(), template, metav1.CreateOptions{})
	l.must(errors.Join(classErr, templateErr))
}

// createDevice has a node have one device more, of a pool of its own.
func (l *lab) createDevice(node, name string) {
	l.Helper()
	_, err := l.client.ResourceV1().ResourceSlices().Create(l.Context(), &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: gpuDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		},
	}, metav1.CreateOptions{})
	l.must(err)
}

// holders are the devices that are held, by pool, and by whom.
func (l *lab) holders() ([]string, error) {
	claims, err := l.client.ResourceV1().ResourceClaims(namespace).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var holders []string
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			for _, pod := range claim.Status.ReservedFor {
				holders = append(holders, fmt.Sprintf("%s by %s", result.Pool, pod.UID))
			}
		}
	}
	slices.Sort(holders)
	return holders, nil
}

// A pod moves with its devices: to where there is one for the claim that will be made for its replacement, and not before.
func TestAPodThatHoldsADeviceMovesToWhereThereIsOne(t *testing.T) {
	for _, selection := range []muster.Selection{muster.Scheduler, muster.Extender} {
		t.Run(string(selection), func(t *testing.T) {
			l := newEmptyLab(t, v1alpha1.Auto, selection)
			l.createDeviceClass()
			l.createNode("n1", "4")
			l.createDevice("n1", "first")
			l.createSet("small", "2", 1, claiming)
			l.eventually("small runs", func() error { return isOn(l.small(), "n1") })
			before := l.small()
			l.createNode("n2", "2")
			l.createDevice("n2", "second")
			l.createSet("holder", "0", 1, claiming)
			l.eventually("holder runs", func() error {
				if pods := l.podsOf("holder"); len(pods) == 1 {
					return isOn(pods[0], "n2")
				}
				return errors.New("there is none")
			})
			l.createPod("big", "4")
			l.reschedule()

			l.eventually("there is no plan", func() error {
				return l.shows("/debug/rescheduler", "no plan for 1 of those that wait; of default/big: ")
			})
			if small := l.small(); small == nil || small.UID != before.UID {
				t.Fatalf("the pod was evicted though the device of the other node is held: %v", small)
			}

			l.createDevice("n2", "third")
			l.awaitPlan(v1alpha1.Succeeded, "")
			l.must(isOn(l.pod("big"), "n1"))
			l.must(isOn(l.small(), "n2"))
			want := []string{fmt.Sprintf("second by %s", l.podsOf("holder")[0].UID), fmt.Sprintf("third by %s", l.small().UID)}
			l.eventually("the device that was left is free", func() error {
				got, err := l.holders()
				if err == nil && !slices.Equal(got, want) {
					err = fmt.Errorf("held are %v, want %v", got, want)
				}
				return err
			})
		})
	}
}
