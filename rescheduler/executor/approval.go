package executor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// wanted reports whether a plan which has not begun is to, once it may.
func (e *Executor) wanted(plan *v1alpha1.ReschedulingPlan) bool {
	if plan.Spec.Mode == v1alpha1.DryRun || e.Mode == v1alpha1.DryRun {
		return false
	}
	return plan.IsApproved() || plan.Spec.Mode == v1alpha1.Auto && e.Mode == v1alpha1.Auto
}

func (e *Executor) waitsFor(plan *v1alpha1.ReschedulingPlan) string {
	switch {
	case plan.Spec.Mode == v1alpha1.DryRun:
		return "is never carried out: its mode is DryRun"
	case e.Mode == v1alpha1.DryRun:
		return "waits: rescheduler.mode is DryRun"
	}
	return fmt.Sprintf("waits for the annotation %s=true", v1alpha1.AnnotationApprove)
}

// approve writes down that a plan is to be carried out, its phase, and what it waits for. From when that
// was seen first its time counts: a plan that waits for a yes uses none of it up.
func (e *Executor) approve(ctx context.Context, plan *v1alpha1.ReschedulingPlan, phase v1alpha1.Phase, message string) {
	if plan.Status.Approved != nil {
		e.set(ctx, plan, phase, message)
		return
	}
	e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) {
		status.Phase, status.Message, status.Approved, status.Expires = phase, message, new(e.now()), plan.Spec.Expires.DeepCopy()
		if plan.IsApproved() {
			status.Expires = new(metav1.NewTime(status.Approved.Add(e.PlanTTL)))
		}
	})
}

// waitsForApproval reports whether a plan waits for somebody to approve of it.
func (e *Executor) waitsForApproval(plan *v1alpha1.ReschedulingPlan) bool {
	return plan.Status.Phase == v1alpha1.Pending && plan.Spec.Mode == v1alpha1.Approve && plan.Status.Approved == nil && !plan.IsApproved()
}

// Supersede ends a plan that stands in the way of another one, and says so: one that waits for approval if it would not
// work any more, and one of a dry run once the mode is another one. It must not be asked while a plan is carried out: the
// room of that one looks taken.
func (e *Executor) Supersede(ctx context.Context, plan *v1alpha1.ReschedulingPlan) bool {
	if plan.Spec.Mode == v1alpha1.DryRun && e.Mode != v1alpha1.DryRun {
		why := fmt.Sprintf("rescheduler.mode is %s by now, and this plan is never carried out", e.Mode)
		return e.end(ctx, plan, ending{phase: v1alpha1.Expired, reason: reasonModeChanged, message: why})
	}
	if !e.waitsForApproval(plan) {
		return false
	}
	why := e.check(plan, 0)
	if len(plan.Spec.Beneficiaries) > 0 && len(e.waiting(plan)) == 0 {
		why = "nobody waits any more"
	}
	return why != "" && e.end(ctx, plan, ending{phase: v1alpha1.Expired, reason: reasonClusterChanged, message: why})
}

func (e *Executor) whyExpired(plan *v1alpha1.ReschedulingPlan) string {
	if e.waitsForApproval(plan) {
		return "nobody has approved of it in time"
	}
	if !plan.Reserves(plan.Expires().Add(-time.Nanosecond)) {
		return "its time was up before it began"
	}
	return "its time was up: " + plan.Status.Message
}

// delays says why a plan must wait before it begins, "" when it need not. A plan begins only when the rates and windows
// allow all of its steps. So neither a plan nor a gang stops half way because evictions have run out.
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
