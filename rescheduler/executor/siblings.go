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
	for _, pod := range e.comers(step) {
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

// mistakable are the pods that could be taken for the replacement of the pod of a step by who has not seen them before:
// those on the two nodes, and those without a node that are not of its kind. One of its kind that waits may have the
// room as well as the replacement, which then waits in its stead.
func (e *Executor) mistakable(step *v1alpha1.Step) []types.UID {
	found := map[types.UID]bool{}
	for _, pod := range e.comers(step) {
		switch pod.Spec.NodeName {
		case step.From, step.To:
			found[pod.UID] = true
		case "":
			if e.apart(pod, step) > 0 {
				found[pod.UID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// comers are the pods that may have come in the place of the pod of a step, with and without a node.
func (e *Executor) comers(step *v1alpha1.Step) (pods []*cluster.Pod) {
	for node := range e.Cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Spec.NodeName != "" && reservation.MayReplace(pod, step) {
				pods = append(pods, pod)
			}
		}
	}
	for _, pod := range e.Cluster.Pending() {
		if reservation.MayReplace(pod, step) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// apart is 1 for a pod that is of another kind than the one of a step, and 0 for one of its kind.
func (e *Executor) apart(pod *cluster.Pod, step *v1alpha1.Step) int {
	store := e.Profiles.Of(step.Replacement.Spec.SchedulerName)
	if store != nil && reservation.IsReplacement(pod, step, store.Profile) {
		return 0
	}
	return 1
}
