package executor

import (
	"fmt"
	"time"

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
	now, evictions := e.Clock.Now(), Evictions(e.Holes.Plans())
	if needs, left := len(plan.Spec.Steps), e.Limits.RateLeft(evictions, now); left >= 0 && needs > left {
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
		if left := s.RateLeft(evictions, now); left >= 0 && needs > left {
			return fmt.Sprintf("waits: it takes %d evictions of pods with %s, and %d are left of %d in %s", needs, s.Name, left, s.Rate.Evictions, s.Rate.Per)
		}
	}
	return ""
}

// RateLeft is how many evictions the rate of all allows now, negative for any number.
func (l *Limits) RateLeft(evictions []Eviction, now time.Time) int {
	return l.Rate.leftOf(evictions, now, anyEviction)
}

// RateLeft is how many evictions of the pods the rate allows now, negative for any number.
func (s *Selected) RateLeft(evictions []Eviction, now time.Time) int {
	return s.Rate.leftOf(evictions, now, s.matchesVictim)
}

func (r *Rate) leftOf(evictions []Eviction, now time.Time, counts func(Eviction) bool) int {
	if r.Evictions == 0 {
		return -1
	}
	return max(0, r.left(evictions, now, counts))
}
