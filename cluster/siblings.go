package cluster

import (
	"reflect"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Trimming returns a [Trim] for objects that are kept. Pods of one controller share the memory of what they are equal in: labels,
// containers, tolerations and the like, which are most of a pod. It is safe for concurrent use.
func Trimming() cache.TransformFunc {
	s := newSiblings()
	return func(object any) (any, error) {
		trimmed, err := Trim(object)
		if pod, is := trimmed.(*corev1.Pod); is {
			s.share(pod)
		}
		return trimmed, err
	}
}

// siblings remember the last pod of controllers.
type siblings struct {
	mu   sync.Mutex
	last recent[family, *corev1.Pod]
}

// family is a controller, or none, in a namespace.
type family struct {
	namespace  string
	controller types.UID
}

// mostFamilies is how many controllers are remembered.
const mostFamilies = 8192

func newSiblings() *siblings { return &siblings{last: recent[family, *corev1.Pod]{most: mostFamilies}} }

// share has a pod use the memory of the last one of its controller where they are equal, and remembers it instead of that one.
func (s *siblings) share(pod *corev1.Pod) {
	pod.Namespace = unique.Make(pod.Namespace).Value()
	pod.Spec.NodeName = unique.Make(pod.Spec.NodeName).Value()
	of := family{namespace: pod.Namespace}
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		of.controller = controller.UID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, known := s.last.get(of); known {
		shareMeta(&pod.ObjectMeta, &last.ObjectMeta)
		shareSpec(&pod.Spec, &last.Spec)
		shareStatus(&pod.Status, &last.Status)
	}
	s.last.put(of, pod)
}

// share has a value use the memory of another one that is equal.
func share[T any](mine *T, other T) {
	if reflect.DeepEqual(*mine, other) {
		*mine = other
	}
}

func shareMeta(mine, other *metav1.ObjectMeta) {
	share(&mine.Labels, other.Labels)
	share(&mine.Annotations, other.Annotations)
	share(&mine.OwnerReferences, other.OwnerReferences)
}

func shareSpec(mine, other *corev1.PodSpec) {
	share(&mine.Volumes, other.Volumes)
	share(&mine.InitContainers, other.InitContainers)
	share(&mine.Containers, other.Containers)
	share(&mine.TerminationGracePeriodSeconds, other.TerminationGracePeriodSeconds)
	share(&mine.NodeSelector, other.NodeSelector)
	share(&mine.Affinity, other.Affinity)
	share(&mine.SchedulerName, other.SchedulerName)
	share(&mine.Tolerations, other.Tolerations)
	share(&mine.PriorityClassName, other.PriorityClassName)
	share(&mine.Priority, other.Priority)
	share(&mine.PreemptionPolicy, other.PreemptionPolicy)
	share(&mine.TopologySpreadConstraints, other.TopologySpreadConstraints)
}

func shareStatus(mine, other *corev1.PodStatus) {
	share(&mine.Phase, other.Phase)
	share(&mine.QOSClass, other.QOSClass)
	share(&mine.InitContainerStatuses, other.InitContainerStatuses)
	share(&mine.ContainerStatuses, other.ContainerStatuses)
	for i := range min(len(mine.Conditions), len(other.Conditions)) {
		share(&mine.Conditions[i].Type, other.Conditions[i].Type)
		share(&mine.Conditions[i].Status, other.Conditions[i].Status)
		share(&mine.Conditions[i].Reason, other.Conditions[i].Reason)
	}
}

// affinities are parsed once for the pods of a namespace that share them.
type affinities struct {
	mu     sync.Mutex
	parsed recent[sharedAffinity, *Affinity]
}

type sharedAffinity struct {
	*corev1.Affinity
	namespace string
}

// mostAffinities is how many are remembered.
const mostAffinities = 8192

func newAffinities() *affinities {
	return &affinities{parsed: recent[sharedAffinity, *Affinity]{most: mostAffinities}}
}

// of returns the inter-pod affinity of a pod, nil when it has none.
func (a *affinities) of(pod *corev1.Pod) *Affinity {
	if pod.Spec.Affinity == nil {
		return nil
	}
	key := sharedAffinity{pod.Spec.Affinity, pod.Namespace}
	a.mu.Lock()
	parsed, known := a.parsed.get(key)
	a.mu.Unlock()
	if known {
		return parsed
	}
	parsed = parseAffinity(pod)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parsed.put(key, parsed)
	return parsed
}
