package predicates

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// podKin are the pods that do the same work as a pod: the pods that its services and its controller select.
// Without constraints these are the pods to spread (DefaultSelector in
// pkg/scheduler/framework/plugins/helper/spread.go).
type podKin struct {
	servedPod
	controller selectingController
}

func kinOf(pod *corev1.Pod) *podKin {
	return &podKin{servedPod: servedPod{pod.Namespace, pod.Labels}, controller: selectingControllerOf(pod)}
}

// selector selects the kin, by the present objects. It is empty when nothing
// selects the pod.
func (k *podKin) selector(objects *cluster.Objects) labels.Selector {
	// They all select the pod, so that they agree. Only a replication controller may not
	// select its own pods, and then it has the last word.
	together := labels.Set{}
	for _, service := range k.services(objects) {
		maps.Copy(together, service)
	}
	switch controller := k.controller.find(k.namespace, objects).(type) {
	case *corev1.ReplicationController:
		maps.Copy(together, controller.Spec.Selector)
	case *appsv1.ReplicaSet:
		return narrowedBy(together, controller.Spec.Selector)
	case *appsv1.StatefulSet:
		return narrowedBy(together, controller.Spec.Selector)
	}
	return together.AsSelector()
}

// narrowedBy selects what both select. One that does not parse, or selects nothing, is
// passed over.
func narrowedBy(set labels.Set, object *metav1.LabelSelector) labels.Selector {
	selector := set.AsSelector()
	if more, err := metav1.LabelSelectorAsSelector(object); err == nil {
		requirements, _ := more.Requirements()
		return selector.Add(requirements...)
	}
	return selector
}

// dependsOn reports whether the selector might be another one; see [Selective].
func (k *podKin) dependsOn(kind cluster.Aspect, object types.NamespacedName, before, after *cluster.Objects) bool {
	if kind == cluster.AspectService {
		return k.otherServices(object, before, after)
	}
	return object == types.NamespacedName{Namespace: k.namespace, Name: k.controller.name} &&
		k.controller.find(k.namespace, before) != k.controller.find(k.namespace, after)
}

// selectingController names the controller of a pod. Its kind is "" when there is none,
// or none with a selector that is read.
type selectingController struct{ kind, name string }

// The kinds whose selectors are read.
const (
	replicationController = "v1/ReplicationController"
	replicaSet            = "apps/v1/ReplicaSet"
	statefulSet           = "apps/v1/StatefulSet"
)

func selectingControllerOf(pod *corev1.Pod) selectingController {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return selectingController{}
	}
	switch kind := owner.APIVersion + "/" + owner.Kind; kind {
	case replicationController, replicaSet, statefulSet:
		return selectingController{kind: kind, name: owner.Name}
	}
	return selectingController{}
}

// find returns the object, nil when it is not there.
func (c selectingController) find(namespace string, objects *cluster.Objects) any {
	name := types.NamespacedName{Namespace: namespace, Name: c.name}
	switch c.kind {
	case replicationController:
		return lookUp(objects.ReplicationControllers, name)
	case replicaSet:
		return lookUp(objects.ReplicaSets, name)
	case statefulSet:
		return lookUp(objects.StatefulSets, name)
	}
	return nil
}

func lookUp[V any](table cluster.Table[types.NamespacedName, V], name types.NamespacedName) any {
	if object, known := table.Get(name); known {
		return object
	}
	return nil
}
