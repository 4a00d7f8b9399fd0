package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Extended resources that no node offers and that cost nothing. Where muster is registered as
// managed, kube-scheduler asks it about the pods that ask for them and about no others. There are
// two, as kube-scheduler does not let its two entries for muster manage the same resource.
const (
	// ResourceManaged has kube-scheduler ask filter, prioritize and preempt.
	ResourceManaged corev1.ResourceName = "muster.dev/managed"
	// ResourceBound has kube-scheduler ask bind.
	ResourceBound corev1.ResourceName = "muster.dev/bound"
)

// LabelManaged makes the pods of a namespace managed, with the value "true".
const LabelManaged = "muster.dev/managed"

// Costless says that a resource is only asked for to be managed: it takes no room.
func Costless(name corev1.ResourceName) bool { return name == ResourceManaged || name == ResourceBound }
