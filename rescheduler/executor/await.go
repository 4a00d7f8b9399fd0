package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/reservation"
)

// await waits for the replacement of a pod that was evicted, until it is bound and ready, and
// the pod is gone.
func (e *Executor) await(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int) {
	step, replacement := &plan.Spec.Steps[at], e.replacement(plan, at)
	waits := ""
	switch {
	case replacement == nil:
		waits = fmt.Sprintf("nothing has come in the place of %s", step.Pod)
	case replacement.Spec.NodeName == "":
		e.nominate(ctx, plan, replacement, step.To)
		waits = fmt.Sprintf("%s, which replaces %s, has no node", nameOf(replacement), step.Pod)
	case replacement.Spec.NodeName == step.From:
		e.fail(ctx, plan, fmt.Sprintf("%s, which replaces %s, has come back to %s", nameOf(replacement), step.Pod, step.From))
		return
	case !replacement.Ready():
		waits = fmt.Sprintf("%s, which replaces %s, is not ready", nameOf(replacement), step.Pod)
	case e.on(step.From, step.Pod.UID) != nil:
		waits = fmt.Sprintf("%s has not ended", step.Pod)
	}
	if waits == "" {
		e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) {
			status.Steps[at].Phase, status.Steps[at].Node = v1alpha1.StepMoved, replacement.Spec.NodeName
			status.Steps[at].Replacement = &v1alpha1.PodReference{Namespace: replacement.Namespace, Name: replacement.Name, UID: replacement.UID}
			status.Message = fmt.Sprintf("%s has moved to %s", step.Pod, replacement.Spec.NodeName)
		})
		return
	}
	if limit := e.patience(step); e.since(plan.Step(at).Evicted) > limit {
		e.fail(ctx, plan, fmt.Sprintf("%s %s after the eviction", waits, limit))
		return
	}
	e.set(ctx, plan, v1alpha1.Executing, waits+" yet")
}

// patience is how long a replacement may take to be ready: as long as is configured, besides
// the time that the pod has to end.
func (e *Executor) patience(step *v1alpha1.Step) time.Duration {
	return e.Limits.ReplacementTimeout + planner.Grace(&step.Replacement.Spec)
}

func (e *Executor) since(t *metav1.Time) time.Duration {
	if t == nil {
		return 0
	}
	return e.Clock.Since(t.Time)
}

// replacement is what came in the place of the pod of a step, nil when nothing has: of the pods
// of its kind that no other step has and that were not there before, the one that is furthest.
func (e *Executor) replacement(plan *v1alpha1.ReschedulingPlan, at int) *cluster.Pod {
	step := &plan.Spec.Steps[at]
	taken := e.siblings[step.Pod.UID].Clone()
	if taken == nil {
		taken = sets.New[types.UID]()
	}
	for i := range plan.Status.Steps {
		if other := plan.Status.Steps[i].Replacement; other != nil {
			taken.Insert(other.UID)
		}
	}
	candidates := slices.DeleteFunc(e.alike(step), func(pod *cluster.Pod) bool {
		// By the clock of the API server, which made both. A process that was killed knows no more.
		return taken.Has(pod.UID) || pod.CreationTimestamp.Before(&plan.CreationTimestamp) || pod.DeletionTimestamp != nil
	})
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, func(a, b *cluster.Pod) int {
		return cmp.Or(-cmp.Compare(progress(a), progress(b)), cmp.Compare(a.Name, b.Name))
	})
}

func progress(pod *cluster.Pod) int {
	switch {
	case pod.Ready():
		return 2
	case pod.Spec.NodeName != "":
		return 1
	}
	return 0
}

// alike are the pods that may be taken for the replacement of the pod of a step.
func (e *Executor) alike(step *v1alpha1.Step) (pods []*cluster.Pod) {
	store := e.Profiles.Of(step.Replacement.Spec.SchedulerName)
	if store == nil {
		return nil
	}
	look := func(pod *cluster.Pod) {
		if !pod.Placeholder && reservation.IsReplacement(pod, step, store.Profile) {
			pods = append(pods, pod)
		}
	}
	for node := range e.Cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Spec.NodeName != "" {
				look(pod)
			}
		}
	}
	stop := e.Cluster.FollowPending(func(event cluster.PodEvent) {
		if event.Pod != nil {
			look(event.Pod)
		}
	})
	stop()
	return pods
}

// nominate tells kube-scheduler once about the place of a pod: else it may not be among the
// nodes that it looks at. Without, the plan may still succeed. Of gated pods it wants to know nothing. A dry
// run writes nothing on pods.
func (e *Executor) nominate(ctx context.Context, plan *v1alpha1.ReschedulingPlan, pod *cluster.Pod, node string) {
	if e.Mode == v1alpha1.DryRun {
		return
	}
	if pod == nil || pod.Status.NominatedNodeName != "" || len(pod.Spec.SchedulingGates) > 0 || e.told[plan.UID].Has(pod.UID) {
		return
	}
	if e.told[plan.UID] == nil {
		e.told[plan.UID] = sets.New[types.UID]()
	}
	err := e.Client.Nominate(ctx, pod.Pod, node)
	if !nomination.Outdated(err) { // else it is tried again as the pod is by now
		e.told[plan.UID].Insert(pod.UID)
	}
	if err != nil {
		e.Logger.Debug("cannot nominate a pod", "pod", nameOf(pod), "node", node, "err", err)
	}
}

func nameOf(pod *cluster.Pod) string { return pod.Namespace + "/" + pod.Name }
