package predicates

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// volumeBinding holds a pod to the nodes from which the volumes of its bound claims can be reached, by their node
// affinity (checkBoundClaims in pkg/scheduler/framework/plugins/volumebinding). Plans need that: volumes of CSI
// drivers and local ones have their topology there.
//
// It is a part of kube-scheduler's plugin, which stays on beside it. Claims that have no volume yet are not looked at,
// nor are volumes whose in-tree plugin was replaced: their affinity depends on how far a node has migrated.
type volumeBinding struct{}

func newVolumeBinding(*config.Profile) (Predicate, error) { return volumeBinding{}, nil }

func (volumeBinding) Name() string { return config.VolumeBinding }

func (volumeBinding) Aspects() cluster.Aspect {
	return cluster.AspectLabels | cluster.AspectPersistentVolume | cluster.AspectPersistentVolumeClaim
}

func (volumeBinding) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	required := affinityOfVolumes(pod, snap.Objects)
	if len(required) == 0 {
		return nil
	}
	c := &volumeBindingCheck{pod: pod, required: required}
	for _, one := range required {
		c.selectors = append(c.selectors, nodeaffinity.NewLazyErrorNodeSelector(one))
	}
	return c
}

// volumeBindingCheck is volumeBinding for a pod.
type volumeBindingCheck struct {
	pod       *cluster.Pod
	required  []*corev1.NodeSelector
	selectors []*nodeaffinity.LazyErrorNodeSelector // of required
	labelled  corev1.Node                           // what kube-scheduler's plugin shows them of a node: its labels
}

func (c *volumeBindingCheck) Verdict(node *cluster.Node) Verdict {
	c.labelled.Labels = node.Labels
	for _, selector := range c.selectors {
		if matches, err := selector.Match(&c.labelled); err != nil || !matches {
			return volumeOutOfReach | hopeless
		}
	}
	return Fits
}

// DependsOn implements [Selective].
func (c *volumeBindingCheck) DependsOn(_ cluster.Aspect, _ types.NamespacedName, _, after *cluster.Objects) bool {
	return !equality.Semantic.DeepEqual(c.required, affinityOfVolumes(c.pod, after))
}

// affinityOfVolumes returns the required node affinity of the volumes that the claims of a pod are bound to.
func affinityOfVolumes(pod *cluster.Pod, objects *cluster.Objects) []*corev1.NodeSelector {
	var required []*corev1.NodeSelector
	for i := range pod.Spec.Volumes {
		claim, problem := claimOf(pod, &pod.Spec.Volumes[i], objects)
		if problem != Fits || claim == nil || !isBound(claim) {
			continue
		}
		volume, known := objects.PersistentVolumes.Get(claim.Spec.VolumeName)
		if !known || isMigratable(volume) {
			continue
		}
		if affinity := volume.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
			required = append(required, affinity.Required)
		}
	}
	return required
}

// bindCompleted is the annotation of claims whose two sides the controller of volumes has bound to each other
// (k8s.io/component-helpers/storage/volume, which would link every type of the API with each program of a predicate).
const bindCompleted = "pv.kubernetes.io/bind-completed"

// storageClassOf returns the name of the storage class that a claim asks for, "" for none (GetPersistentVolumeClaimClass there).
func storageClassOf(claim *corev1.PersistentVolumeClaim) string {
	if class, is := claim.Annotations[corev1.BetaStorageClassAnnotation]; is {
		return class
	}
	return ptr.Deref(claim.Spec.StorageClassName, "")
}

// isBound reports whether a claim has its volume for good: the controller of volumes has finished both sides.
func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" && metav1.HasAnnotation(claim.ObjectMeta, bindCompleted)
}

// isMigratable reports whether a volume is of an in-tree plugin in whose place a CSI driver can come.
func isMigratable(volume *corev1.PersistentVolume) bool {
	return volume.Spec.CSI == nil && csitranslation.New().IsPVMigratable(volume)
}
