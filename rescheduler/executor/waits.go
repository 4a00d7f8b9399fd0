package executor

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// countWaits counts how long those had waited who got the places that a plan made for them. It is
// to be called once, when the plan has ended.
func (e *Executor) countWaits(plan *v1alpha1.ReschedulingPlan) {
	waited := e.Metrics.waited.WithLabelValues(string(plan.Spec.Policy))
	for _, b := range plan.Spec.Beneficiaries {
		if pod := e.on(b.Node, b.UID); pod != nil {
			waited.Observe(boundAt(pod, e.Clock.Now()).Sub(pod.CreationTimestamp.Time).Seconds())
		}
	}
}

// boundAt returns when a pod got its node, as its condition says, else now.
func boundAt(pod *cluster.Pod, now time.Time) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return now
}
