package v1alpha1

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Ended says that nothing more is done about the plan.
func (p *ReschedulingPlan) Ended() bool {
	switch p.Status.Phase {
	case Succeeded, Failed, Expired:
		return true
	case Pending, Approved, Executing:
	}
	return false
}

// Expires is when the plan is given up, by the clock of the rescheduler.
func (p *ReschedulingPlan) Expires() time.Time {
	if p.Status.Expires != nil {
		return p.Status.Expires.Time
	}
	return p.Spec.Expires.Time
}

// Lasts is how long the plan may take from when it was to be carried out, 0 when it is not: for those
// who go by another clock.
func (p *ReschedulingPlan) Lasts() time.Duration {
	if p.Status.Approved == nil {
		return 0
	}
	return p.Expires().Sub(p.Status.Approved.Time)
}

// Runs says that the plan is being carried out, or is about to be: the room which it counts on is to be
// kept, and no replacement is to return to where the pod came from.
func (p *ReschedulingPlan) Runs() bool {
	return p.Status.Phase == Approved || p.Status.Phase == Executing
}

// Reserves reports whether the plan runs and has not expired, by the clock of the rescheduler. Its room
// is kept no longer, even when nobody writes down that the plan expired.
func (p *ReschedulingPlan) Reserves(now time.Time) bool { return p.Runs() && now.Before(p.Expires()) }

// IsReserved says that the extender has answered for that room: it was there, and is kept.
func (p *ReschedulingPlan) IsReserved() bool {
	return meta.IsStatusConditionTrue(p.Status.Conditions, ConditionReserved)
}

// GivenUp is why the extender keeps the room of the plan no more, as the reason and the message of a condition; "" while it
// may.
func (p *ReschedulingPlan) GivenUp() (reason, message string) {
	said := meta.FindStatusCondition(p.Status.Conditions, ConditionReserved)
	if said != nil && (said.Reason == ReasonReplacementDiffers || said.Reason == ReasonSystemPodCame) {
		return said.Reason, said.Message
	}
	return "", ""
}

// IsApproved says that somebody has approved of the plan.
func (p *ReschedulingPlan) IsApproved() bool { return p.Annotations[AnnotationApprove] == "true" }

// Step is how far the step of that place is.
func (p *ReschedulingPlan) Step(at int) StepStatus {
	if at >= len(p.Status.Steps) {
		return StepStatus{Phase: StepWaiting}
	}
	return p.Status.Steps[at]
}

// Object is the replacement as a pod.
func (s *Step) Object() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *s.Replacement.ObjectMeta.DeepCopy(), Spec: *s.Replacement.Spec.DeepCopy()}
	pod.Namespace = s.Pod.Namespace
	return pod
}

// KeepsName is the name that the replacement will have, "" when its controller gives it a new one.
func (s *Step) KeepsName() string {
	if s.Controller.Kind == "StatefulSet" {
		return s.Pod.Name
	}
	return ""
}

// ByAge compares plans by when they were made, and then by name.
func ByAge(a, b *ReschedulingPlan) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
