package reservation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// isFor says that a pod is one that the reservation is for, or another one of its kind.
func (r *reservation) isFor(pod *cluster.Pod, profile *predicates.Profile) bool {
	if r.beneficiary != "" {
		return r.beneficiary == pod.UID
	}
	return (r.called == "" || r.called == pod.Name) && isOfKind(pod, r.controller, r.pod, profile)
}

// isOfKind says that a pod has that controller, and that no plugin of the profile can tell it from an example.
func isOfKind(pod *cluster.Pod, controller types.UID, example *cluster.Pod, profile *predicates.Profile) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.UID == controller && pod.Namespace == example.Namespace &&
		profile.AloneAs(unplaced(pod)) == profile.AloneAs(example)
}

// unplaced is a pod as it was before it had a node.
func unplaced(pod *cluster.Pod) *cluster.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	object := *pod.Pod
	object.Spec.NodeName = ""
	before := *pod
	before.Pod = &object
	return &before
}

// leavesAs says that a pod is of the kind of the one that a step moves.
func leavesAs(pod *cluster.Pod, step *v1alpha1.Step, profile *predicates.Profile) bool {
	return pod.UID != step.Pod.UID && isControlledBy(pod, step) &&
		isOfKind(pod, step.Controller.UID, cluster.NewPod(step.Object()), profile)
}

// isControlledBy is false for most pods: nothing is derived for them.
func isControlledBy(pod *cluster.Pod, step *v1alpha1.Step) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.UID == step.Controller.UID
}

// IsReplacement says that a pod is what came, or may come, in the place of the one that a step
// moves: it has the same controller, and the name that this gives it, and no plugin of the profile can tell it apart.
func IsReplacement(pod *cluster.Pod, step *v1alpha1.Step, profile *predicates.Profile) bool {
	name := step.KeepsName()
	return (name == "" || name == pod.Name) && leavesAs(pod, step, profile)
}

// IsSibling says that a pod is another one of the controller of the pod that a step moves.
func IsSibling(pod *cluster.Pod, step *v1alpha1.Step) bool {
	return !pod.Placeholder && pod.UID != step.Pod.UID && pod.Namespace == step.Pod.Namespace && isControlledBy(pod, step)
}
