package conformance

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespaceNames returns the names of the namespaces that pods are in.
func namespaceNames() []string { return []string{metav1.NamespaceDefault, "shop", "shop-test"} }

// workloads is how many names of controllers there are in a namespace.
const workloads = 5

func workloadName(i int) string { return fmt.Sprintf("workload-%d", i) }

// namespaces draws the objects of namespaces. One may not be known.
func namespaces(s *source, to *Objects) {
	for _, name := range namespaceNames() {
		if s.chance(10) {
			continue
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
		for _, label := range several(s, 2, namespaceLabels()...) {
			namespace.Labels[label.key] = one(s, label.values...)
		}
		to.Namespaces = append(to.Namespaces, namespace)
	}
}

// selectPods draws what selects pods: services, and controllers with the names in pods' owner references, some of
// them missing.
func selectPods(s *source, to *Objects) {
	for i := range s.upTo(3) {
		to.Services = append(to.Services, &corev1.Service{
			ObjectMeta: s.meta(fmt.Sprintf("service-%d", i)),
			Spec:       corev1.ServiceSpec{Selector: s.labels(2, podLabels())},
		})
	}
	for i := range s.upTo(2 * workloads) {
		meta := s.meta(workloadName(i % workloads))
		switch s.upTo(2) {
		case 0:
			to.ReplicationControllers = append(to.ReplicationControllers, &corev1.ReplicationController{
				ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: s.labels(2, podLabels())},
			})
		case 1:
			to.ReplicaSets = append(to.ReplicaSets, &appsv1.ReplicaSet{
				ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: s.labelSelector(podLabels())},
			})
		default:
			to.StatefulSets = append(to.StatefulSets, &appsv1.StatefulSet{
				ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: s.labelSelector(podLabels())},
			})
		}
	}
}

// meta draws a namespace for an object of a name.
func (s *source) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: one(s, namespaceNames()...)}
}

// employ draws a controller for a pod, which may be none.
func employ(s *source, pod *corev1.Pod) {
	if s.chance(25) {
		return
	}
	kind := one(s,
		corev1.SchemeGroupVersion.WithKind("ReplicationController"),
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		batchv1.SchemeGroupVersion.WithKind("Job"),
	)
	owner := &metav1.ObjectMeta{Name: workloadName(s.upTo(workloads - 1))}
	owner.UID = types.UID(fmt.Sprintf("%s/%s/%s", kind.Kind, pod.Namespace, owner.Name))
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
}
