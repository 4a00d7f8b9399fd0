package executor

import (
	"cmp"
	"context"
	"fmt"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// Reasons of [v1alpha1.ConditionFinished] besides the phases.
const (
	reasonModeChanged    = "ModeChanged"    // another mode is configured
	reasonClusterChanged = "ClusterChanged" // the plan does not work any more
)

// ending is how a plan ends.
type ending struct {
	phase   v1alpha1.Phase
	reason  string // of the condition; "" stands for the phase
	message string
}

func (e ending) reasonOfCondition() string { return cmp.Or(e.reason, string(e.phase)) }

func succeeded(why string) ending { return ending{phase: v1alpha1.Succeeded, message: why} }
func failed(why string) ending    { return ending{phase: v1alpha1.Failed, message: why} }
func outdated(why string) ending {
	return ending{phase: v1alpha1.Failed, reason: reasonClusterChanged, message: why}
}
func expired(why string) ending { return ending{phase: v1alpha1.Expired, message: why} }

// stricter returns how a plan that runs is to end before anything else is evicted, as the configured mode does
// not let it go on; nil when it does. Under Approve a plan of mode Auto goes on if somebody has approved of it.
func stricter(mode v1alpha1.Mode, plan *v1alpha1.ReschedulingPlan) *ending {
	if allows(mode, plan) {
		return nil
	}
	why := fmt.Sprintf("rescheduler.mode is %s by now", mode)
	if mode != v1alpha1.DryRun {
		why += ", and nobody has approved of the plan"
	}
	return &ending{phase: v1alpha1.Failed, reason: reasonModeChanged, message: why}
}

// allows reports whether a mode lets a plan run that was made under another one.
func allows(mode v1alpha1.Mode, plan *v1alpha1.ReschedulingPlan) bool {
	switch mode {
	case v1alpha1.DryRun:
		return false
	case v1alpha1.Approve:
		return plan.Spec.Mode == v1alpha1.Approve || plan.IsApproved()
	case v1alpha1.Auto:
	}
	return true
}

// end ends a plan. Its room is free from then on. An eviction that may have been granted counts; one that was not
// is struck out. It says whether that could be written.
func (e *Executor) end(ctx context.Context, plan *v1alpha1.ReschedulingPlan, how ending) bool {
	ended := e.writeBecause(ctx, plan, how.reasonOfCondition(), func(status *v1alpha1.ReschedulingPlanStatus) {
		status.Phase, status.Message, status.Finished = how.phase, how.message, new(e.now())
		for i := range status.Steps {
			if status.Steps[i].Phase == v1alpha1.StepEvicting && e.mayLeave(&plan.Spec.Steps[i]) {
				status.Steps[i].Phase, status.Steps[i].Evicted = v1alpha1.StepEvicted, new(e.now())
			}
		}
	})
	if ended == nil {
		return false
	}
	e.Metrics.plans.WithLabelValues(string(plan.Spec.Policy), string(how.phase)).Inc()
	e.countWaits(plan)
	for i := range plan.Spec.Steps {
		if ended.Step(i).Phase == v1alpha1.StepEvicting {
			e.Record.Strike(ctx, plan.Spec.Steps[i].Pod.UID)
		}
		delete(e.tries, plan.Spec.Steps[i].Pod.UID)
		delete(e.newcomers.before, plan.Spec.Steps[i].Pod.UID)
	}
	delete(e.told, plan.UID)
	e.Logger.Info("plan ended", "plan", plan.Name, "phase", how.phase, "reason", how.message)
	return true
}

func (e *Executor) fail(ctx context.Context, plan *v1alpha1.ReschedulingPlan, why string) {
	e.end(ctx, plan, failed(why))
}

// giveUp ends a plan instead of asking for an eviction again. While a former one may be granted yet, the plan
// goes on, so that the room is kept.
func (e *Executor) giveUp(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int, how ending) {
	step := &plan.Spec.Steps[at]
	if !e.unsettled(step) {
		e.end(ctx, plan, how)
		return
	}
	e.pause(step.Pod.UID, false)
	e.set(ctx, plan, v1alpha1.Executing, fmt.Sprintf("waits to see what becomes of the eviction of %s: %s", step.Pod, how.message))
}
