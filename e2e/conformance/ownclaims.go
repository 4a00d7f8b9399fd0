package conformance

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// ownClaim names the claim that each pod of some classes has for itself.
const ownClaim = "own"

func hasOwnClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == ownClaim })
}

// claimForItself has the pods of a class have a claim for two devices each, by a template. Hardly anything else keeps them
// from a node, so that it is seen what devices do.
func claimForItself(template *corev1.Pod) {
	template.Spec = corev1.PodSpec{
		SchedulerName: template.Spec.SchedulerName, Containers: []corev1.Container{{Name: "main"}},
		Tolerations:    []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		ResourceClaims: []corev1.PodResourceClaim{{Name: ownClaim, ResourceClaimTemplateName: new(ownClaim)}},
	}
}

// makeClaim makes the claim of a pod that has one for itself.
func (h *History) makeClaim(pod *corev1.Pod) error {
	if !hasOwnClaim(pod) {
		return nil
	}
	claim := ownClaimOf(pod)
	others := slices.DeleteFunc(slices.Clone(pod.Status.ResourceClaimStatuses), func(s corev1.PodResourceClaimStatus) bool {
		return s.Name == ownClaim // that of the pod it was copied from
	})
	pod.Status.ResourceClaimStatuses = append(others, corev1.PodResourceClaimStatus{Name: ownClaim, ResourceClaimName: &claim.Name})
	return set(h.cluster, claim)
}

func ownClaimOf(pod *corev1.Pod) *resourcev1.ResourceClaim {
	name := "of-" + strings.ReplaceAll(string(pod.UID), "/", "-")
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: pod.Namespace, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "device", Exactly: exactly}},
		}},
	}
}

// asking is a pod of a class that is asked about: one that never comes to a node, or one that waits for one and may be there
// when others are asked about, since what is remembered was found out about the first that was asked about. Of pods with
// claims for themselves it is one that waits, nil when none does.
func (h *History) asking(class []*cluster.Pod) (*cluster.Pod, error) {
	of := class[0].OwnerReferences[0].UID
	var waiting []*cluster.Pod
	for _, pod := range h.cluster.Pending() {
		if h.alike[pod.UID] == of && h.cluster.Assumed(pod.UID) == "" {
			waiting = append(waiting, pod)
		}
	}
	switch own := hasOwnClaim(class[0].Pod); {
	case own && len(waiting) == 0:
		return nil, nil
	case own, len(waiting) > 0 && h.source.chance(50):
		slices.SortFunc(waiting, func(a, b *cluster.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
		return one(h.source, waiting...), nil
	}
	asked := *one(h.source, class...)
	return &asked, resolveClaims(h.cluster, &asked)
}
