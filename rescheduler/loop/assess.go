package loop

import (
	"context"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/scaleup"
)

// assess finds the waiting pods that moving others would not help, and has that told. The room of a plan
// that is being carried out looks taken, so it is not asked meanwhile.
func (l *Loop) assess(ctx context.Context) {
	if l.executor.Busy() {
		return
	}
	verdict := scaleup.Verdict{}
	if situation := l.situation(v1alpha1.MakeRoom); l.config.MakeRoom.Enabled && len(situation.Waiting) > 0 {
		lasting(situation.Problem)
		verdict = scaleup.VerdictOf(situation.Problem.MakeRoom(situation.Problem.Pending(situation.Waiting)))
	}
	l.teller.Tell(ctx, verdict)
}

// lasting takes out of a problem what forbids an eviction for the time being only: cool-downs, the age of pods,
// our own budgets, and PodDisruptionBudgets with a pod down already.
func lasting(problem *planner.Problem) {
	problem.Budgets = planner.Budgets{WhenHealthy: true}
	problem.Rules.Unless, problem.Rules.MinAge = nil, 0
}
