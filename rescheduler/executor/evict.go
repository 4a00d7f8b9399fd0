package executor

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/reservation"
)

// The pauses between two attempts to evict a pod. They double.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// settling is how long an eviction may take effect of whose answer nothing is known: as long as the API server
// works on a request, and the watch needs to show it.
const settling = 90 * time.Second

// Results of evictions, as they stand in metrics.
const (
	evictionGranted = "granted"
	evictionDelayed = "delayed" // 429
	evictionRefused = "refused"
	evictionError   = "error"
)

// evict asks for the eviction of a step that has begun. It may have been asked for already, by
// a process that was killed: then the pod is going, or gone.
func (e *Executor) evict(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int) {
	step := &plan.Spec.Steps[at]
	victim := e.on(step.From, step.Pod.UID)
	if victim == nil || victim.DeletionTimestamp != nil || e.tries[step.Pod.UID].granted {
		e.granted(ctx, plan, at)
		return
	}
	e.settle(step.Pod.UID)
	if e.Clock.Now().Before(e.tries[step.Pod.UID].again) {
		return
	}
	if !e.mayStill(ctx, plan, at) {
		return
	}
	plan, stays := e.remember(ctx, plan, at)
	if !stays {
		return // that it goes is seen the next time
	}
	if err := e.Record.Note(ctx, e.Limits.eviction(plan, at, e.Cluster.Snapshot(), e.Clock.Now())); err != nil {
		e.pause(step.Pod.UID, false)
		e.set(ctx, plan, v1alpha1.Executing, fmt.Sprintf("waits: the eviction of %s cannot be written down: %v", step.Pod, err))
		return
	}
	err := e.Client.Evict(ctx, step.Pod)
	switch {
	case err == nil:
		e.count(plan, evictionGranted)
		e.Events.Eventf(victim.Pod, nil, corev1.EventTypeNormal, "Rescheduled", "Evicting",
			"%s: %s; what replaces it goes to node %s", plan.Name, step.Why, step.To)
		e.granted(ctx, plan, at)
	case apierrors.IsNotFound(err): // it is gone
		e.granted(ctx, plan, at)
	case apierrors.IsConflict(err): // another one has its name, as the watch will show, or others write to it all the time
		e.count(plan, evictionDelayed)
		e.pause(step.Pod.UID, false)
	case apierrors.IsTooManyRequests(err):
		e.count(plan, evictionDelayed)
		e.pause(step.Pod.UID, false)
		if !e.unsettled(step) { // somebody may delete the plan while it waits
			e.Record.Strike(ctx, step.Pod.UID)
		}
		e.set(ctx, plan, v1alpha1.Executing, fmt.Sprintf("waits until a PodDisruptionBudget allows to evict %s", step.Pod))
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		e.count(plan, evictionRefused)
		e.giveUp(ctx, plan, at, failed(fmt.Sprintf("%s cannot be evicted: %v", step.Pod, err)))
	default: // it may have been granted
		e.count(plan, evictionError)
		e.pause(step.Pod.UID, true)
		e.set(ctx, plan, v1alpha1.Executing, fmt.Sprintf("waits to see what becomes of the eviction of %s: %v", step.Pod, err))
		e.Logger.Warn("cannot ask for an eviction", "plan", plan.Name, "pod", step.Pod.String(), "err", err)
	}
}

// mayStill reports whether a step that has begun may go on: much may have come about since. If not, it says so in the
// plan, or ends it.
func (e *Executor) mayStill(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int) bool {
	if how := stricter(e.Mode, plan); how != nil {
		e.giveUp(ctx, plan, at, *how)
		return false
	}
	if why := e.late(plan, at); why != "" {
		e.giveUp(ctx, plan, at, expired(why))
		return false
	}
	if why := e.check(plan, at); why != "" {
		e.giveUp(ctx, plan, at, outdated(why))
		return false
	}
	if why := e.forbids(plan, at); why != "" {
		e.set(ctx, plan, v1alpha1.Executing, why)
		return false
	}
	return true
}

// eviction returns what is written down of the eviction of a step.
func (l *Limits) eviction(plan *v1alpha1.ReschedulingPlan, at int, snap *cluster.Snapshot, now time.Time) evictions.Eviction {
	step := &plan.Spec.Steps[at]
	return evictions.Eviction{
		Pod: step.Pod.UID, Plan: plan.UID, Controller: step.Controller.UID, Node: step.From, At: now,
		Budgets: l.budgets(plan, step, snap),
	}
}

func (e *Executor) count(plan *v1alpha1.ReschedulingPlan, result string) {
	e.Metrics.evictions.WithLabelValues(string(plan.Spec.Policy), result).Inc()
}

// pause has an eviction asked for again after a time. If its outcome is unknown, it stays unknown until the
// eviction has settled, whatever becomes of others.
func (e *Executor) pause(uid types.UID, unknown bool) {
	last := e.tries[uid]
	next := try{pause: min(max(2*last.pause, firstPause), maxPause), asked: last.asked}
	if next.again = e.Clock.Now().Add(next.pause); unknown {
		next.asked = e.Clock.Now()
	}
	e.tries[uid] = next
}

// settle is to be called when a pod that was to be evicted is still there. An attempt with an unknown outcome
// counts as failed after a time. An attempt unknown to this process may be another process's.
func (e *Executor) settle(uid types.UID) {
	last, known := e.tries[uid]
	if !known {
		last.asked = e.Clock.Now()
	} else if e.Clock.Since(last.asked) >= settling {
		last.asked = time.Time{}
	}
	e.tries[uid] = last
}

// unsettled reports whether the pod of a step which has begun may have been evicted, though nothing shows it yet.
func (e *Executor) unsettled(step *v1alpha1.Step) bool {
	try, known := e.tries[step.Pod.UID]
	return !known || !try.asked.IsZero()
}

// mayLeave reports whether the pod of a step which has begun goes, or may go, as it was asked to.
func (e *Executor) mayLeave(step *v1alpha1.Step) bool {
	victim := e.on(step.From, step.Pod.UID)
	return victim == nil || victim.DeletionTimestamp != nil || e.tries[step.Pod.UID].granted || e.unsettled(step)
}

// granted writes down that the pod of a step is going.
func (e *Executor) granted(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int) {
	step := &plan.Spec.Steps[at]
	e.tries[step.Pod.UID] = try{granted: true}
	e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) {
		status.Steps[at].Phase, status.Steps[at].Evicted = v1alpha1.StepEvicted, new(e.now())
		status.Message = fmt.Sprintf("waits for what replaces %s on %s", step.Pod, step.To)
	})
}

// late says why there is no time left for a step, "" when there is: its room is free once the plan has
// expired, so that what replaces the pod has to be there before.
func (e *Executor) late(plan *v1alpha1.ReschedulingPlan, at int) string {
	step := &plan.Spec.Steps[at]
	limit := e.patience(step)
	if e.Clock.Now().Add(limit).After(plan.Expires()) {
		return fmt.Sprintf("too little time is left for what replaces %s, which may take %s: %s", step.Pod, limit, plan.Status.Message)
	}
	return ""
}

// check carries out the rest of a plan, from a step on, on a model of the cluster as it is. It
// returns why that does not work any more, "" when it does.
func (e *Executor) check(plan *v1alpha1.ReschedulingPlan, from int) string {
	snap := e.Cluster.Snapshot()
	workloads, hasSeveralBudgets := planner.WorkloadsOf(snap), planner.SeveralBudgets(snap)
	rehearsal := reservation.Rehearsal{Cluster: e.Cluster, Profiles: e.Profiles, Protects: func(pod *cluster.Pod, node *cluster.Node) string {
		if hasSeveralBudgets(pod) {
			return planner.ReasonTwoBudgets
		}
		return e.Rules.Protects(pod, node, workloads, e.Clock.Now())
	}}
	if why := rehearsal.Objection(plan, from); why != "" {
		return why
	}
	if why := e.departing(plan, from); why != "" {
		return why
	}
	return e.marks.newcomer(plan, from)
}

// departing names a node that the rest of a plan, from a step on, counts on or empties though no plan should
// any more; "" when there is none. Once all pods have moved, the waiting ones may come.
func (o *Options) departing(plan *v1alpha1.ReschedulingPlan, from int) string {
	snap := o.Cluster.Snapshot()
	why := func(name, who string, of func(*cluster.Node) string) string {
		if node := snap.NodeByName(name); node != nil {
			if reason := of(node); reason != "" {
				return fmt.Sprintf("%s is %s any more: %s", name, who, reason)
			}
		}
		return ""
	}
	for i := from; i < len(plan.Spec.Steps); i++ {
		step := &plan.Spec.Steps[i]
		if said := why(step.To, fmt.Sprintf("no place for what replaces %s", step.Pod), planner.NoTarget); said != "" {
			return said
		}
	}
	if from == len(plan.Spec.Steps) {
		return ""
	}
	for _, b := range plan.Spec.Beneficiaries {
		if said := why(b.Node, fmt.Sprintf("no place for %s", b), planner.NoTarget); said != "" && o.Cluster.PendingPod(b.UID) != nil {
			return said
		}
	}
	for _, name := range plan.Spec.Empties {
		if said := why(name, "not to be emptied", planner.Keeps); said != "" {
			return said
		}
	}
	return ""
}

// on returns the pod of that UID on a node, as the watch shows it; nil when it is not there.
func (e *Executor) on(node string, uid types.UID) *cluster.Pod {
	return reservation.Bound(e.Cluster.Snapshot().NodeByName(node), uid)
}
