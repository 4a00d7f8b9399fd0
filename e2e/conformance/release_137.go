//go:build !kubernetes136

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
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// release is the release of kube-scheduler whose plugins are compiled in, without the point.
const release = "137"

// podInformer is a factory's name for its informer of pods.
type podInformer = corev1informers.TypedPodInformer

// countsImageVolumes says that ImageLocality wants more bytes of a pod with volumes of images.
const countsImageVolumes = true

// demandsDrivers says that a CSIDriver can demand a driver of nodes.
const demandsDrivers = true

// withoutAbsence leaves a namespace selector as it is.
func withoutAbsence(selector *metav1.LabelSelector) *metav1.LabelSelector { return selector }

func withSnapshot(snapshot *cache.Snapshot) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSnapshotSharedLister(snapshot), frameworkruntime.WithMutableSnapshotLister(snapshot),
	}
}

// SelectVictimsOnNode implements preemption.Interface. What muster deliberately does otherwise comes first: pods of
// lower priority that are going are as if they were not. They have not to be evicted, and are no victims.
func (d *dryRun) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
	possible []*preemption.DomainVictim, pdbs []*policyv1.PodDisruptionBudget,
) ([]*corev1.Pod, int, *fwk.Status) {
	if err := d.remove(ctx, state, node, d.leaves); err != nil {
		d.failed = err
		return nil, 0, fwk.AsStatus(err)
	}
	stay := slices.DeleteFunc(slices.Clone(possible), func(victim *preemption.DomainVictim) bool {
		return slices.ContainsFunc(victim.Pods(), func(p fwk.PodInfo) bool { return d.leaves(p.GetPod()) })
	})
	victims, violations, status := d.DefaultPreemption.SelectVictimsOnNode(ctx, state, pod, node, stay, pdbs)
	if status.Code() == fwk.Error {
		d.failed = errFails
	}
	return victims, violations, status
}
