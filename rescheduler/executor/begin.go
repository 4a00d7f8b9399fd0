package executor

import (
	"fmt"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// delays is why a plan must wait before it begins, "" when it need not. It begins when the rates
// allow all of it: none is cut in the middle, for want of evictions, and neither is a gang.
func (e *Executor) delays(plan *v1alpha1.ReschedulingPlan) string {
	if len(plan.Spec.Steps) == 0 {
		return ""
	}
	if why := e.forbids(plan, 0); why != "" {
		return why
	}
	now, past := e.Clock.Now(), e.Record.Evictions()
	if needs, left := len(plan.Spec.Steps), e.Limits.RateLeft(past, now); left != AnyNumber && needs > left {
		return fmt.Sprintf("waits: it takes %d evictions, and %d are left of %d in %s", needs, left, e.Limits.Rate.Evictions, e.Limits.Rate.Per)
	}
	for i := range e.Limits.Selected {
		s := &e.Limits.Selected[i]
		needs := 0
		for j := range plan.Spec.Steps {
			if step := &plan.Spec.Steps[j]; s.matches(step.Pod.Namespace, step.Replacement.Labels) {
				needs++
			}
		}
		if left := s.RateLeft(past, now); left != AnyNumber && needs > left {
			return fmt.Sprintf(
				"waits: it takes %d evictions of pods with %s, and %d are left of %d in %s", needs, s.Name, left, s.Rate.Evictions, s.Rate.Per,
			)
		}
	}
	return ""
}
