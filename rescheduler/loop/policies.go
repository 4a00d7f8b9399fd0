package loop

import (
	"fmt"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
)

// policy is a reason to move pods.
type policy struct {
	name    v1alpha1.Policy
	enabled bool
	// plan makes a plan that is worth carrying out, or says why there is none.
	plan func() (plan *planner.Plan, why string)
}

// policies are all of them. Who comes first is planned for first, and while its plan is
// carried out nobody else is.
func (l *loop) policies() []policy {
	return []policy{
		{v1alpha1.MakeRoom, l.config.MakeRoom.Enabled, l.makeRoom},
		{v1alpha1.Coalesce, l.config.Coalesce.Enabled, l.coalesce},
	}
}

// makeRoom gives pods a place that have been pending for long enough.
func (l *loop) makeRoom() (*planner.Plan, string) {
	waiting := l.waiting()
	if len(waiting) == 0 {
		return nil, "no pod waits for long enough"
	}
	problem := l.problem()
	plan := l.timed(v1alpha1.MakeRoom, problem.MakeRoom(planner.Pending(problem.Snapshot, waiting)))
	switch {
	case len(plan.Steps) > 0:
		return plan, ""
	case len(plan.Unplaced) > 0:
		return nil, fmt.Sprintf("no plan for %d of those that wait; of %s: %s", len(plan.Unplaced), plan.Unplaced[0].Name, plan.Unplaced[0].Reason)
	default:
		return nil, "those that wait have room"
	}
}

// coalesce empties nodes.
func (l *loop) coalesce() (*planner.Plan, string) {
	plan := l.timed(v1alpha1.Coalesce, l.problem().Coalesce(nil, int(l.config.Coalesce.MaxNodes)))
	switch {
	case len(plan.Steps) > 0:
		return plan, ""
	case len(plan.Kept) > 0:
		return nil, fmt.Sprintf("no node can be emptied; of %s: %s", plan.Kept[0].Name, plan.Kept[0].Reason)
	default:
		return nil, "there is no node to empty"
	}
}

// timed counts how long it took to search for a plan.
func (l *loop) timed(policy v1alpha1.Policy, plan *planner.Plan) *planner.Plan {
	l.metrics.planning.WithLabelValues(string(policy)).Observe(plan.Took.Seconds())
	return plan
}
