package executor

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// remember notes the pods like the pod of a step before it goes, so that none of them is taken for its
// replacement. It does so at each attempt, as the controller may have made more of them since the last one.
// Whatever other processes have to know of that, and this one after a restart, it writes into the plan, which
// it returns. It reports whether the pod was still there after them. If not, it keeps what was known: the watch
// shows that a pod goes before it shows the replacement.
func (e *Executor) remember(
	ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int,
) (now *v1alpha1.ReschedulingPlan, stays bool) {
	step := &plan.Spec.Steps[at]
	there := sets.New[types.UID]()
	for _, pod := range e.newcomers.all(step) {
		there.Insert(pod.UID)
	}
	siblings := e.newcomers.mistakable(step)
	if victim := e.on(step.From, step.Pod.UID); victim == nil || victim.DeletionTimestamp != nil {
		return plan, false
	}
	if !sets.New(plan.Step(at).Siblings...).HasAll(siblings...) {
		plan = e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) { status.Steps[at].Siblings = siblings })
		if plan == nil {
			return nil, false
		}
	}
	e.newcomers.before[step.Pod.UID] = there
	return plan, true
}
