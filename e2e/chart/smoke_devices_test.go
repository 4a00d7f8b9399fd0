package chart

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/workload"
)

// devices: what kube-scheduler has allocated to a member of a gang that waits is taken back. Here it is not kube-scheduler
// that has, and the gang lacks a member for ever.
func (s *smoke) devices() {
	s.Helper()
	s.createPodGroup(v1alpha1.GroupX, "g-devices", 2)
	pod := newPod("g-devices-0", "gangs", "1", workload.Labelled(v1alpha1.LabelX, "g-devices"))
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("template")}}
	s.Create(pod)
	pods, claims := s.Client.CoreV1().Pods("default"), s.Client.ResourceV1().ResourceClaims("default")
	s.Eventually("the pod is not gated", func() error { // else no scheduler would have allocated anything
		gated, err := pods.Get(s.Context(), pod.Name, metav1.GetOptions{})
		s.Must(err)
		gated.Spec.SchedulingGates = nil
		pod, err = pods.Update(s.Context(), gated, metav1.UpdateOptions{})
		return err
	})
	claim, err := claims.Create(s.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "of-g-devices-0",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}},
		},
		Spec: devices.Some(1),
	}, metav1.CreateOptions{})
	s.Must(err)
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: devices.Driver, Pool: "pool", Device: "gpu-0"}},
	}}
	_, err = claims.UpdateStatus(s.Context(), claim, metav1.UpdateOptions{})
	s.Must(err)
	s.Eventually("the pod has its claim", func() error { // kube-scheduler writes its status, too
		pod, err := pods.Get(s.Context(), pod.Name, metav1.GetOptions{})
		s.Must(err)
		pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim.Name}}
		_, err = pods.UpdateStatus(s.Context(), pod, metav1.UpdateOptions{})
		return err
	})
	s.Eventually("the devices are taken back", func() error {
		now, err := claims.Get(s.Context(), claim.Name, metav1.GetOptions{})
		s.Must(err)
		if now.Status.Allocation != nil {
			return errors.New("they are held yet")
		}
		return nil
	})
}
