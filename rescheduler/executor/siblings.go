package executor

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/reservation"
)

// remember notes who is like the pod of a step before it goes, so that none of them is taken for its
// replacement: at each attempt anew, as its controller may have made more of them since the last
// one. What others have to know of that, and this process when it begins anew, it writes into the plan, which it
// returns. It says whether the pod was there still after them, and leaves it at what was known if not: the
// watch shows that a pod goes before it shows what replaces it.
func (e *Executor) remember(
	ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int,
) (now *v1alpha1.ReschedulingPlan, stays bool) {
	step := &plan.Spec.Steps[at]
	there := sets.New[types.UID]()
	for _, pod := range e.alike(step) {
		there.Insert(pod.UID)
	}
	siblings := e.mistakable(step)
	if victim := e.on(step.From, step.Pod.UID); victim == nil || victim.DeletionTimestamp != nil {
		return plan, false
	}
	if !sets.New(plan.Step(at).Siblings...).HasAll(siblings...) {
		plan = e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) { status.Steps[at].Siblings = siblings })
		if plan == nil {
			return nil, false
		}
	}
	e.siblings[step.Pod.UID] = there
	return plan, true
}

// mistakable are the siblings of the pod of a step that could be taken for its replacement: those on the two nodes, and
// those without a node that are not of its kind. One of its kind that waits may have the room as well as the
// replacement, which then waits in its stead.
func (e *Executor) mistakable(step *v1alpha1.Step) []types.UID {
	found := map[types.UID]bool{}
	look := func(pods []*cluster.Pod) {
		for _, pod := range pods {
			if reservation.IsSibling(pod, step) && (pod.Spec.NodeName != "" || !e.isAlike(pod, step)) {
				found[pod.UID] = true
			}
		}
	}
	for _, name := range []string{step.From, step.To} {
		if node := e.Cluster.Snapshot().NodeByName(name); node != nil {
			look(node.Pods)
		}
	}
	look(e.Cluster.Pending())
	return slices.Sorted(maps.Keys(found))
}

func (e *Executor) isAlike(pod *cluster.Pod, step *v1alpha1.Step) bool {
	store := e.Profiles.Of(step.Replacement.Spec.SchedulerName)
	return store != nil && reservation.IsReplacement(pod, step, store.Profile)
}
