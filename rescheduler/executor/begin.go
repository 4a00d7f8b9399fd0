package executor

import (
	"fmt"
	"maps"
	"slices"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// delays says why a plan must wait before it begins, "" when it need not. It begins when the rates and windows
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
		needs := map[string]int{} // by domain
		for j := range plan.Spec.Steps {
			step := &plan.Spec.Steps[j]
			if !s.binds(plan, step) {
				continue
			}
			needs[s.domain(e.Cluster.Snapshot(), step.From)]++
		}
		if len(needs) > 0 && !s.open(now) {
			return s.awaitsWindow()
		}
		for _, domain := range slices.Sorted(maps.Keys(needs)) {
			if left := s.RateLeft(domain, past, now); left != AnyNumber && needs[domain] > left {
				return fmt.Sprintf(
					"waits: it takes %d evictions of pods with %s, and %d are left of %d in %s",
					needs[domain], s.said(domain), left, s.Rate.Evictions, s.Rate.Per,
				)
			}
		}
	}
	return ""
}
