package predicates

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"

	"muster.dev/muster/cluster"
)

// claimOf returns the claim that a volume of a pod stands for, nil when it stands for none, or
// what keeps the pod from running anywhere until that claim is there. The claim of an
// ephemeral volume is named after the pod and must be owned by it: one that somebody else
// made is not touched.
func claimOf(pod *cluster.Pod, volume *corev1.Volume, objects *cluster.Objects) (*corev1.PersistentVolumeClaim, Verdict) {
	var name string
	switch {
	case volume.PersistentVolumeClaim != nil:
		name = volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		name = ephemeral.VolumeClaimName(pod.Pod, volume)
	default:
		return nil, Fits
	}
	if name == "" {
		return nil, claimNameless | hopeless
	}
	claim, known := objects.PersistentVolumeClaims.Get(types.NamespacedName{Namespace: pod.Namespace, Name: name})
	switch {
	case !known:
		return nil, claimMissing | hopeless
	case volume.Ephemeral != nil && ephemeral.VolumeIsForPod(pod.Pod, claim) != nil:
		return nil, claimForeign | hopeless
	}
	return claim, Fits
}
