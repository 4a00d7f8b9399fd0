package reschedulerfaults

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// words say what an entry tells that is worth reading, "" for nothing.
func (e entry) words() string {
	gone := ""
	if e.gone {
		gone = ", is gone"
	}
	switch {
	case e.plan != nil:
		var text strings.Builder
		fmt.Fprintf(&text, "plan %s: %s, %s%s;", e.plan.Name, e.plan.Status.Phase, e.plan.Status.Message, gone)
		for i := range e.plan.Spec.Steps {
			step := &e.plan.Spec.Steps[i]
			fmt.Fprintf(&text, " %s %s→%s %s;", step.Pod.Name, step.From, step.To, e.plan.Step(i).Phase)
		}
		for i := range e.plan.Spec.Beneficiaries {
			fmt.Fprintf(&text, " for %s on %s;", e.plan.Spec.Beneficiaries[i].Name, e.plan.Spec.Beneficiaries[i].Node)
		}
		return text.String()
	case e.pod != nil:
		leaving := ""
		if e.pod.DeletionTimestamp != nil {
			leaving = ", leaves"
		}
		reason := ""
		for _, c := range e.pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				reason = ", " + c.Message
			}
		}
		return fmt.Sprintf(
			"pod %s (%dm) on %q, nominated %q, ready %t%s%s%s", e.pod.Name, milliCPU(e.pod), e.pod.Spec.NodeName, e.pod.Status.NominatedNodeName,
			isReady(e.pod), leaving, gone, reason,
		)
	case e.node != nil && (e.gone || e.node.Spec.Unschedulable):
		return fmt.Sprintf("node %s, closed %t%s", e.node.Name, e.node.Spec.Unschedulable, gone)
	}
	return ""
}
