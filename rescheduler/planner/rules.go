package planner

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// Rules say which pods may be evicted. The zero Rules are the strict ones that everybody
// should begin with.
type Rules struct {
	// AllowLocalStorage allows to evict pods with an emptyDir or a hostPath, whose data is
	// lost.
	AllowLocalStorage bool
	// AllowClaims allows to evict pods with PersistentVolumeClaims.
	AllowClaims bool
	// AllowHigherPriority allows to move a pod for one of lower priority. It gets a new place,
	// but it is restarted for somebody less important.
	AllowHigherPriority bool
	// AllowSingleReplica allows to evict the only pod of a controller that is ready. Nothing does its
	// work until what replaces it is ready.
	AllowSingleReplica bool
	// AllowKubeSystem allows to evict pods of the namespace kube-system.
	AllowKubeSystem bool
	// Controllers are kinds, as in CloneSet.apps.kruise.io, that replace each of their pods which is
	// evicted and bear that, besides ReplicationControllers, ReplicaSets and StatefulSets. Jobs bear it
	// as their own fields say; as one of Controllers they always do.
	Controllers sets.Set[string]
	// BelowPriority, if set, protects pods of this priority and above.
	BelowPriority *int32
	// Selector, if set, protects all pods that it does not match.
	Selector labels.Selector
	// Namespaces, if any, protect the pods of all others.
	Namespaces sets.Set[string]
	// ExceptNamespaces protect their pods.
	ExceptNamespaces sets.Set[string]
	// Nodes, if set, protects pods on nodes whose labels it does not match.
	Nodes labels.Selector
	// MinAge protects pods that have not run for so long.
	MinAge time.Duration
	// MinReplicas protects pods of a controller that has fewer pods than that on nodes. Pods that are being
	// deleted do not count.
	MinReplicas int
	// MaxGrace, unless it is 0, protects pods that may take longer than that to end.
	MaxGrace time.Duration
	// Unless, if set, returns one more reason to protect a pod, "" for none, as a cool-down.
	// It should be a constant.
	Unless func(pod *cluster.Pod, node *cluster.Node) string
}

// Reasons why a pod is not moved.
const (
	ReasonMirrorPod      = "it is a static pod"
	ReasonDaemonSetPod   = "it is a pod of a DaemonSet"
	ReasonTerminating    = "it is being deleted"
	ReasonNotBound       = "it is not bound yet"
	ReasonSystemCritical = "it is critical to the system"
	ReasonNoController   = "it has no controller that would replace it"
	ReasonController     = "it is not known whether its controller would replace it"
	ReasonNotReplaced    = "its controller would not replace it"
	ReasonUnknownJob     = "nothing is known of its Job"
	ReasonJobFails       = "its Job may fail by that"
	ReasonOnlyReady      = "it is the only pod of its controller that is ready"
	ReasonKubeSystem     = "it is in kube-system"
	ReasonNodeLeftAlone  = "its node is annotated not to be disrupted"
	ReasonLocalStorage   = "it has local storage"
	ReasonClaims         = "it has persistent volumes"
	ReasonNotSafe        = "it is annotated not to be evicted"
	ReasonPinnedByKueue  = "Kueue's topology-aware scheduling has placed it"
	ReasonPriority       = "its priority is protected"
	ReasonHigherPriority = "its priority is higher"
	ReasonSelector       = "its labels are not selected"
	ReasonNamespace      = "its namespace is protected"
	ReasonNode           = "its node is not selected"
	ReasonYoung          = "it has not run for long enough"
	ReasonFewReplicas    = "its controller has too few pods"
	ReasonGrace          = "it may take longer to end than a plan lasts"
	ReasonNear           = "its gang asks for nodes near each other, and no other ones are looked for yet"
	ReasonGang           = "it is of a gang with a pod that may not be moved"
	ReasonBudget         = "a budget is used up"
	ReasonTwoBudgets     = "it has more than one PodDisruptionBudget, so that it cannot be evicted"
)

// Annotations that forbid an eviction.
const (
	annotationSafeToEvict   = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationPreferNoEvict = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
)

func isMirror(pod *cluster.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.Kind == "Node"
}

// Protects returns the first reason why a pod may not be evicted, "" when it may.
func (r *Rules) Protects(pod *cluster.Pod, node *cluster.Node, workloads *Workloads, now time.Time) string {
	if reason := r.byKind(pod); reason != "" {
		return reason
	}
	for _, reason := range []string{r.byController(pod, workloads), r.byVolumes(pod), r.byChoice(pod, node)} {
		if reason != "" {
			return reason
		}
	}
	switch {
	case r.MinAge > 0 && (pod.Status.StartTime == nil || now.Sub(pod.Status.StartTime.Time) < r.MinAge):
		return ReasonYoung
	case r.MinReplicas > 0 && workloads.of(pod).pods < r.MinReplicas:
		return ReasonFewReplicas
	case r.MaxGrace > 0 && placement.Grace(&pod.Spec) > r.MaxGrace:
		return ReasonGrace
	case r.Unless != nil:
		return r.Unless(pod, node)
	}
	return ""
}

// byKind returns the reason that no option can lift.
func (r *Rules) byKind(pod *cluster.Pod) string {
	_, preferNo := pod.Annotations[annotationPreferNoEvict]
	switch {
	case isMirror(pod):
		return ReasonMirrorPod
	case pod.OfDaemonSet():
		return ReasonDaemonSetPod
	case pod.DeletionTimestamp != nil:
		return ReasonTerminating
	case pod.Spec.NodeName == "":
		return ReasonNotBound
	case corev1helpers.PodPriority(pod.Pod) >= schedulingv1alpha1.SystemCritical:
		return ReasonSystemCritical
	case metav1.GetControllerOfNoCopy(pod.Pod) == nil:
		return ReasonNoController
	case pod.Annotations[annotationSafeToEvict] == "false", preferNo, notToBeDisrupted(pod.Annotations):
		return ReasonNotSafe
	case isPinnedByKueue(pod):
		return ReasonPinnedByKueue
	}
	return ""
}

// isPinnedByKueue reports whether Kueue's topology-aware scheduling has chosen where a pod runs: it would pin the replacement as well,
// and counts places by itself. These annotations are on all such pods, one of them also where nobody has asked for a topology.
func isPinnedByKueue(pod *cluster.Pod) bool {
	for _, topology := range []string{"required", "preferred", "unconstrained", "slice-required"} {
		if _, is := pod.Annotations["kueue.x-k8s.io/podset-"+topology+"-topology"]; is {
			return true
		}
	}
	return false
}

// isMovable reports whether an annotation by the pod's author says that it can be moved.
func isMovable(pod *cluster.Pod) bool { return pod.Annotations[v1alpha1.AnnotationMovable] == "true" }

// byController returns the objection from what the pod's controller would make of its eviction.
func (r *Rules) byController(pod *cluster.Pod, workloads *Workloads) string {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	kind := kindOfController(owner)
	trusted := isMovable(pod) || r.Controllers.Has(kind)
	switch kind {
	case kindJob:
		return byJob(pod, workloads, owner, trusted)
	case kindReplicationController, kindReplicaSet, kindStatefulSet:
		if replicas, there := workloads.wanted(owner, pod.Namespace); !there || workloads.of(pod).pods > replicas {
			return ReasonNotReplaced
		}
	default:
		if !trusted {
			return ReasonController
		}
	}
	// A gang is moved whole: while it is, none of it does its work.
	if !r.AllowSingleReplica && !isMovable(pod) && gangOf(pod) == "" && workloads.isOnlyReady(pod) {
		return ReasonOnlyReady
	}
	return ""
}

// byJob is the same of a Job, one that is trusted to bear it or not.
func byJob(pod *cluster.Pod, workloads *Workloads, owner *metav1.OwnerReference, trusted bool) string {
	job := workloads.job(owner, pod.Namespace)
	switch {
	case job == nil && trusted:
	case job == nil:
		return ReasonUnknownJob
	case !isThere(job, owner), isIdle(job):
		return ReasonNotReplaced
	case !trusted && !bears(job, pod, workloads.of(pod).pods):
		return ReasonJobFails
	}
	return ""
}

func (r *Rules) byVolumes(pod *cluster.Pod) string {
	for i := range pod.Spec.Volumes {
		switch volume := &pod.Spec.Volumes[i]; {
		case !r.AllowLocalStorage && (volume.EmptyDir != nil || volume.HostPath != nil):
			return ReasonLocalStorage
		case !r.AllowClaims && (volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil):
			return ReasonClaims
		}
	}
	return ""
}

func (r *Rules) byChoice(pod *cluster.Pod, node *cluster.Node) string {
	switch {
	case r.BelowPriority != nil && corev1helpers.PodPriority(pod.Pod) >= *r.BelowPriority:
		return ReasonPriority
	case r.Selector != nil && !r.Selector.Matches(labels.Set(pod.Labels)):
		return ReasonSelector
	case len(r.Namespaces) > 0 && !r.Namespaces.Has(pod.Namespace), r.ExceptNamespaces.Has(pod.Namespace):
		return ReasonNamespace
	case pod.Namespace == metav1.NamespaceSystem && !r.AllowKubeSystem && !r.Namespaces.Has(pod.Namespace) && !isMovable(pod):
		return ReasonKubeSystem
	case r.Nodes != nil && !r.Nodes.Matches(labels.Set(node.Labels)):
		return ReasonNode
	case notToBeDisrupted(node.Annotations):
		return ReasonNodeLeftAlone
	}
	return ""
}

// Reasons why nothing is moved to a node, or why it is not emptied.
const (
	ReasonNodeNotReady = "the node is not ready"
	ReasonNodeGoes     = "the node is about to be removed"
	ReasonNodeKept     = "the node is annotated not to be removed"
)

// The marks of autoscalers on nodes: taints on nodes that they are about to remove, annotations on nodes that
// they must not.
const (
	taintToBeDeleted       = "ToBeDeletedByClusterAutoscaler"
	taintDeletionCandidate = "DeletionCandidateOfClusterAutoscaler"
	taintDisrupted         = "karpenter.sh/disrupted"
	taintDisruption        = "karpenter.sh/disruption" // the same, before Karpenter 1.0
	annotationScaleDown    = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	annotationDoNotDisrupt = "karpenter.sh/do-not-disrupt" // of pods and nodes
)

// NoTarget says why no plan counts on room on a node, whatever pods tolerate, "" when plans may.
func NoTarget(node *cluster.Node) string {
	if goes(node) {
		return ReasonNodeGoes
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return ReasonNodeNotReady
		}
	}
	return ""
}

// goes reports whether a node is being deleted, or that an autoscaler is about to remove it.
func goes(node *cluster.Node) bool {
	for i := range node.Spec.Taints {
		switch node.Spec.Taints[i].Key {
		case taintToBeDeleted, taintDeletionCandidate, taintDisrupted, taintDisruption:
			return true
		}
	}
	return node.DeletionTimestamp != nil
}

// Keeps says why a node is not to be emptied, "" when it may be: it is not to be removed, or it goes anyway.
func Keeps(node *cluster.Node) string {
	switch {
	case goes(node):
		return ReasonNodeGoes
	case node.Annotations[annotationScaleDown] == "true", notToBeDisrupted(node.Annotations):
		return ReasonNodeKept
	}
	return ""
}

// notToBeDisrupted reports whether Karpenter is to leave a pod or node alone, for good or for a time.
func notToBeDisrupted(annotations map[string]string) bool {
	value := annotations[annotationDoNotDisrupt]
	return value != "" && value != "false"
}
