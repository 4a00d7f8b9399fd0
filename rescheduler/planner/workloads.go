package planner

import (
	"iter"
	"strconv"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// Kinds of controllers whose treatment of an evicted pod is known.
const (
	kindReplicationController = "ReplicationController"
	kindReplicaSet            = "ReplicaSet.apps"
	kindStatefulSet           = "StatefulSet.apps"
	kindJob                   = "Job.batch"
)

// kindOfController is as in ReplicaSet.apps.
func kindOfController(owner *metav1.OwnerReference) string {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind().String()
}

// Workloads tells of the controllers of pods what [Rules] go by. It counts pods when it is first
// asked about one. It is safe for concurrent use.
type Workloads struct {
	objects *cluster.Objects
	counts  func() map[types.UID]tally
}

// tally counts the pods of a controller that are on nodes, except pods that are being deleted.
type tally struct{ pods, ready int }

// NewWorkloads goes by these objects, and by the pods on these nodes.
func NewWorkloads(objects *cluster.Objects, nodes iter.Seq[*cluster.Node]) *Workloads {
	return &Workloads{objects: objects, counts: sync.OnceValue(func() map[types.UID]tally {
		counts := map[types.UID]tally{}
		for node := range nodes {
			for _, pod := range node.Pods {
				owner := metav1.GetControllerOfNoCopy(pod.Pod)
				if owner == nil || pod.Placeholder || pod.DeletionTimestamp != nil {
					continue
				}
				count := counts[owner.UID]
				if count.pods++; pod.Ready() {
					count.ready++
				}
				counts[owner.UID] = count
			}
		}
		return counts
	})}
}

// WorkloadsOf returns the workloads of a snapshot.
func WorkloadsOf(snap *cluster.Snapshot) *Workloads { return NewWorkloads(snap.Objects, snap.Nodes()) }

// of returns the pods of a pod's controller.
func (w *Workloads) of(pod *cluster.Pod) tally {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	if owner == nil {
		return tally{}
	}
	return w.counts()[owner.UID]
}

// isOnlyReady reports whether a pod is ready, and no other one of its controller is.
func (w *Workloads) isOnlyReady(pod *cluster.Pod) bool { return pod.Ready() && w.of(pod).ready <= 1 }

// wanted returns how many pods a controller is to have, and whether it is there to make them. One that
// nothing shows counts as there: what its pods tell is newer then, or a dump has no controllers.
func (w *Workloads) wanted(owner *metav1.OwnerReference, namespace string) (replicas int, there bool) {
	name := types.NamespacedName{Namespace: namespace, Name: owner.Name}
	switch kindOfController(owner) {
	case kindReplicationController:
		if c, known := w.objects.ReplicationControllers.Get(name); known {
			return orOne(c.Spec.Replicas), isThere(c, owner)
		}
	case kindReplicaSet:
		if s, known := w.objects.ReplicaSets.Get(name); known {
			return orOne(s.Spec.Replicas), isThere(s, owner)
		}
	case kindStatefulSet:
		if s, known := w.objects.StatefulSets.Get(name); known {
			return orOne(s.Spec.Replicas), isThere(s, owner)
		}
	}
	return w.counts()[owner.UID].pods, true
}

// isThere reports whether an object is the owner, not a namesake, and is not being deleted.
func isThere(object metav1.Object, owner *metav1.OwnerReference) bool {
	return object.GetUID() == owner.UID && object.GetDeletionTimestamp() == nil
}

func orOne(replicas *int32) int {
	if replicas == nil {
		return 1
	}
	return int(*replicas)
}

// job returns the Job of a pod, nil when nothing shows it.
func (w *Workloads) job(owner *metav1.OwnerReference, namespace string) *batchv1.Job {
	job, _ := w.objects.Jobs.Get(types.NamespacedName{Namespace: namespace, Name: owner.Name})
	return job
}

// isIdle reports whether a Job makes no pods.
func isIdle(job *batchv1.Job) bool {
	return job.Spec.Suspend != nil && *job.Spec.Suspend || orOne(job.Spec.Parallelism) == 0
}

// bears reports whether a Job does not fail though all of its pods on nodes are evicted. A Job may count pods
// that an executor has evicted late, so that bearing one eviction does not suffice.
func bears(job *batchv1.Job, pod *cluster.Pod, pods int) bool {
	if policy := job.Spec.PodFailurePolicy; policy != nil {
		return ignoresDisruption(policy)
	}
	if limit := job.Spec.BackoffLimitPerIndex; limit != nil {
		failed, err := strconv.Atoi(pod.Annotations[batchv1.JobIndexFailureCountAnnotation])
		return err == nil && failed < int(*limit)
	}
	limit := job.Spec.BackoffLimit
	return limit != nil && int(job.Status.Failed)+pods <= int(*limit)
}

// ignoresDisruption reports whether an eviction is no failure by a policy, whatever the containers of the pod
// end with: the first rule counts that matches, and another one before that of disruptions may.
func ignoresDisruption(policy *batchv1.PodFailurePolicy) bool {
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		if rule.Action != batchv1.PodFailurePolicyActionIgnore {
			return false
		}
		for _, pattern := range rule.OnPodConditions {
			if pattern.Type == corev1.DisruptionTarget && pattern.Status == corev1.ConditionTrue {
				return true
			}
		}
	}
	return false
}
