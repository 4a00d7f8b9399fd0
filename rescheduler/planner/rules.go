package planner

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
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
	// MinReplicas protects pods of a controller that has fewer pods than that on nodes, those that
	// are being deleted left out.
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
	ReasonLocalStorage   = "it has local storage"
	ReasonClaims         = "it has persistent volumes"
	ReasonNotSafe        = "it is annotated not to be evicted"
	ReasonPriority       = "its priority is protected"
	ReasonHigherPriority = "its priority is higher"
	ReasonSelector       = "its labels are not selected"
	ReasonNamespace      = "its namespace is protected"
	ReasonNode           = "its node is not selected"
	ReasonYoung          = "it has not run for long enough"
	ReasonFewReplicas    = "its controller has too few pods"
	ReasonGrace          = "it may take longer to end than a plan lasts"
	ReasonGang           = "it is of a gang of which a pod may not be moved"
	ReasonBudget         = "a budget is used up"
	ReasonTwoBudgets     = "it has more than one PodDisruptionBudget, so that it cannot be evicted"
)

// Annotations that forbid an eviction.
const (
	annotationSafeToEvict   = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationPreferNoEvict = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
)

// systemCriticalPriority is that of system-cluster-critical, the lowest that no user may have.
const systemCriticalPriority = 2_000_000_000

func isMirror(pod *cluster.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.Kind == "Node"
}

func isOfDaemonSet(pod *cluster.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// Protects returns the first reason why a pod may not be evicted, "" when it may. replicas is how
// many pods its controller has, as [Replicas] counts them.
func (r *Rules) Protects(pod *cluster.Pod, node *cluster.Node, replicas func(types.UID) int, now time.Time) string {
	for _, reason := range []string{r.byKind(pod), r.byVolumes(pod), r.byChoice(pod, node)} {
		if reason != "" {
			return reason
		}
	}
	switch {
	case r.MinAge > 0 && (pod.Status.StartTime == nil || now.Sub(pod.Status.StartTime.Time) < r.MinAge):
		return ReasonYoung
	case r.MinReplicas > 0 && replicas(metav1.GetControllerOfNoCopy(pod.Pod).UID) < r.MinReplicas:
		return ReasonFewReplicas
	case r.MaxGrace > 0 && Grace(&pod.Spec) > r.MaxGrace:
		return ReasonGrace
	case r.Unless != nil:
		return r.Unless(pod, node)
	}
	return ""
}

// Grace is how long a pod may take to end.
func Grace(spec *corev1.PodSpec) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if own := spec.TerminationGracePeriodSeconds; own != nil {
		seconds = *own
	}
	return time.Duration(seconds) * time.Second
}

// Replicas tells how many pods a controller has on nodes, by its UID: those that are being deleted
// are left out. It counts when it is first asked. It is safe for concurrent use.
func Replicas(snap *cluster.Snapshot) func(controller types.UID) int {
	count := sync.OnceValue(func() map[types.UID]int {
		replicas := map[types.UID]int{}
		for node := range snap.Nodes() {
			for _, pod := range node.Pods {
				if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil && !pod.Placeholder && pod.DeletionTimestamp == nil {
					replicas[owner.UID]++
				}
			}
		}
		return replicas
	})
	return func(controller types.UID) int { return count()[controller] }
}

// byKind is what no option allows.
func (r *Rules) byKind(pod *cluster.Pod) string {
	_, preferNo := pod.Annotations[annotationPreferNoEvict]
	switch {
	case isMirror(pod):
		return ReasonMirrorPod
	case isOfDaemonSet(pod):
		return ReasonDaemonSetPod
	case pod.DeletionTimestamp != nil:
		return ReasonTerminating
	case pod.Spec.NodeName == "":
		return ReasonNotBound
	case corev1helpers.PodPriority(pod.Pod) >= systemCriticalPriority:
		return ReasonSystemCritical
	case metav1.GetControllerOfNoCopy(pod.Pod) == nil:
		return ReasonNoController
	case pod.Annotations[annotationSafeToEvict] == "false", preferNo:
		return ReasonNotSafe
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
	case r.Nodes != nil && !r.Nodes.Matches(labels.Set(node.Labels)):
		return ReasonNode
	}
	return ""
}
