//go:build kubernetes136

package conformance

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// release is the release of kube-scheduler whose plugins are compiled in, without the point.
const release = "136"

// podInformer is a factory's name for its informer of pods.
type podInformer = corev1informers.PodInformer

// countsImageVolumes says that ImageLocality wants more bytes of a pod with volumes of images. That is so since 1.37,
// and muster goes by it.
const countsImageVolumes = false

// demandsDrivers says that a CSIDriver can demand a driver of nodes: until 1.37 the API server drops that field by default.
const demandsDrivers = false

// withoutAbsence takes out of a namespace selector what asks for the absence of labels. Until 1.37 InterPodAffinity
// goes on to ask it about no labels at all, so that it matches every namespace; muster does as 1.37.
func withoutAbsence(selector *metav1.LabelSelector) *metav1.LabelSelector {
	if selector != nil {
		selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Operator == metav1.LabelSelectorOpNotIn || r.Operator == metav1.LabelSelectorOpDoesNotExist
		})
	}
	return selector
}

func withSnapshot(snapshot *cache.Snapshot) []frameworkruntime.Option {
	return []frameworkruntime.Option{frameworkruntime.WithSnapshotSharedLister(snapshot)}
}

// SelectVictimsOnNode implements preemption.Interface. What muster deliberately does otherwise comes first: pods of
// lower priority that are going are as if they were not. They have not to be evicted, and are no victims.
func (d *dryRun) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, pdbs []*policyv1.PodDisruptionBudget,
) ([]*corev1.Pod, int, *fwk.Status) {
	if err := d.remove(ctx, state, node, d.leaves); err != nil {
		d.failed = err
		return nil, 0, fwk.AsStatus(err)
	}
	victims, violations, status := d.DefaultPreemption.SelectVictimsOnNode(ctx, state, pod, node, pdbs)
	if status.Code() == fwk.Error {
		d.failed = errFails
	}
	return victims, violations, status
}
