package membership

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Gated reports whether a pod has the gate by which muster keeps members from the scheduler.
func Gated(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.SchedulingGates, isOurs) }

// GatedByOthers reports whether it is not up to muster when the scheduler looks at the pod.
func GatedByOthers(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool { return !isOurs(gate) })
}

// Ready reports whether the scheduler will try the pod, once muster lifts its gate.
func Ready(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !GatedByOthers(pod) }

func isOurs(gate corev1.PodSchedulingGate) bool { return gate.Name == v1alpha1.SchedulingGate }
