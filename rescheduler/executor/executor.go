// Package executor carries out ReschedulingPlans, one at a time and one step after the other:
//
//	reserve → check → evict → wait until the replacement is bound and ready → the next step
//
// A plan that is approved has its room kept from then on (package reservation). The extender says so in the
// plan, once it has looked whether the room is there by what it alone knows; nothing is evicted before. Before
// each step the rest of the plan is carried out on a model of the cluster as it is, with all predicates and
// rules. If that does not work any more, the plan has failed: nothing else is evicted, and the room is free
// again. Pods evicted by then have their places, as every part of a plan that is carried out leaves no pod
// without one. A step is not begun if too little time is left for its replacement: the plan has expired.
//
// All that is needed to go on is in the status of the plan, and each thing is written down
// before it is done: a process that is killed at any moment is followed by one that does what is
// left. The eviction itself may be asked for twice, and is granted once, as it is about the UID.
// Two executors cannot both act: one of them fails to write down what it is about to do.
//
// An eviction counts for budgets though its answer was lost and its plan has ended meanwhile, unless
// it is known that the pod stays.
//
//   - 429 says that a PodDisruptionBudget does not allow the eviction at present. It is tried
//     again, more and more rarely, as long as the plan leaves time for the replacement.
//   - 5xx, and an answer that is lost, do not say whether the eviction was granted. It is asked for again, and
//     until the watch has shown what became of it, it counts and the room is kept.
//   - A pod with several budgets cannot be evicted: it is not asked for, and the plan has failed.
//   - A replacement that does not come, is not bound or does not get ready in time, or that is
//     bound to the node which it left, has the plan fail.
package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/reservation"
)

// Client writes to the API server.
type Client interface {
	reservation.Writer
	// Evict asks for the eviction of a pod of that UID.
	Evict(ctx context.Context, pod v1alpha1.PodReference) error
	// Nominate tells kube-scheduler about the place of a pod.
	Nominate(ctx context.Context, pod *corev1.Pod, node string) error
	// EditNode changes a node of that UID as the API server has it. If somebody else changes it meanwhile,
	// nothing changes, and the error is a conflict.
	EditNode(ctx context.Context, node *corev1.Node, edit func(*corev1.Node)) error
}

// Options of an Executor. All are required.
type Options struct {
	Logger       *slog.Logger
	Clock        clock.PassiveClock
	Cluster      *cluster.Cluster
	Profiles     *predicates.Profiles
	Reservations *reservation.Keeper
	Record       *evictions.Record
	Client       Client
	Events       events.EventRecorder
	Metrics      *Metrics
	// Mode is the configured one. A plan that was made under another one begins and goes on only as far as this
	// one lets it. Pods evicted by then are awaited.
	Mode v1alpha1.Mode
	// PlanTTL is how long a plan may take, from when the executor has seen that somebody approved of it.
	PlanTTL time.Duration
	Rules   planner.Rules
	Limits  Limits
	Mark    config.NodeMark
	// ClosedFor is how long an emptied node stays closed to pods that do not need it.
	ClosedFor time.Duration
	// TellAfter is how long after an eviction a plan begins to say what it waits for. To write each thing that comes about
	// within moments would delay all the rest.
	TellAfter time.Duration
}

// Executor carries out plans. It belongs to one goroutine.
type Executor struct {
	Options

	tries     map[types.UID]try // by the pod to be evicted
	newcomers newcomers
	told      map[types.UID]sets.Set[types.UID] // replacements that were nominated, by the UID of the plan
	marks     marks
}

// try is the outcome of asking for an eviction, and when it may be asked for again.
type try struct {
	again   time.Time
	pause   time.Duration
	granted bool      // though the watch may not show it yet
	asked   time.Time // the last time that no answer told whether it was granted, zero if there was none
}

// New returns an Executor that does nothing until it is told to.
func New(o Options) *Executor {
	return &Executor{
		Options: o, tries: map[types.UID]try{},
		newcomers: newcomers{cluster: o.Cluster, profiles: o.Profiles, before: map[types.UID]sets.Set[types.UID]{}},
		told:      map[types.UID]sets.Set[types.UID]{}, marks: marks{Options: o},
	}
}

// Advance does what can be done now about all plans. It must be called when something has
// changed, and every second or so.
func (e *Executor) Advance(ctx context.Context) {
	e.Record.Sync(ctx)
	var turn *v1alpha1.ReschedulingPlan
	var wanted []*v1alpha1.ReschedulingPlan
	for _, plan := range e.Reservations.Plans() {
		switch {
		case plan.Ended():
		case !e.Clock.Now().Before(plan.Expires()):
			e.end(ctx, plan, expired(e.whyExpired(plan)))
		case plan.Status.Phase == v1alpha1.Executing:
			turn = plan
		case plan.Status.Phase == v1alpha1.Approved:
			if turn == nil {
				turn = plan
			}
		case e.wanted(plan):
			wanted = append(wanted, plan)
		default:
			e.set(ctx, plan, v1alpha1.Pending, e.waitsFor(plan))
		}
	}
	e.admit(ctx, wanted, turn == nil)
	if turn != nil {
		e.advance(ctx, turn)
	}
	e.marks.tidy(ctx)
}

// admit has the first of the plans that somebody wants to be carried out and that may begin keep
// its room, if it is the turn of none yet. The others keep none, so that they are in nobody's way:
// one plan at a time.
func (e *Executor) admit(ctx context.Context, wanted []*v1alpha1.ReschedulingPlan, free bool) {
	for _, plan := range wanted {
		why := "waits for its turn"
		if free {
			why = e.delays(plan)
		}
		if why != "" {
			e.approve(ctx, plan, v1alpha1.Pending, why)
			continue
		}
		free = false
		e.approve(ctx, plan, v1alpha1.Approved, awaitsRoom)
	}
}

// Busy reports whether a plan is being carried out, or is about to be: a plan whose room is kept, or one that
// has not been checked yet.
func (e *Executor) Busy() bool {
	return slices.ContainsFunc(e.Reservations.Plans(), func(plan *v1alpha1.ReschedulingPlan) bool {
		return plan.Reserves(e.Clock.Now()) || plan.Status.Phase == "" && e.wanted(plan)
	})
}

// advance goes on with the plan whose turn it is.
func (e *Executor) advance(ctx context.Context, plan *v1alpha1.ReschedulingPlan) {
	at := 0
	for at < len(plan.Spec.Steps) && plan.Step(at).Phase == v1alpha1.StepMoved {
		at++
	}
	if at == len(plan.Spec.Steps) {
		e.awaitBeneficiaries(ctx, plan)
		return
	}
	if reason, why := plan.GivenUp(); reason != "" {
		e.failFor(ctx, plan, at, reason == v1alpha1.ReasonReplacementDiffers, why)
		return
	}
	switch plan.Step(at).Phase {
	case v1alpha1.StepEvicting:
		e.evict(ctx, plan, at)
		return
	case v1alpha1.StepEvicted:
		e.await(ctx, plan, at)
		return
	case v1alpha1.StepWaiting, v1alpha1.StepMoved:
	}
	e.begin(ctx, plan, at)
}

// begin writes down that a step is about to be done.
func (e *Executor) begin(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int) {
	if len(plan.Spec.Beneficiaries) > 0 && len(e.waiting(plan)) == 0 && !partsGang(plan, at) {
		e.end(ctx, plan, succeeded("nobody waits any more: the rest of the steps is not needed"))
		return
	}
	if how := stricter(e.Mode, plan); how != nil {
		e.end(ctx, plan, *how)
		return
	}
	if why := e.late(plan, at); why != "" {
		e.end(ctx, plan, expired(why))
		return
	}
	if why := e.forbids(plan, at); why != "" {
		e.set(ctx, plan, plan.Status.Phase, why)
		return
	}
	if why := e.check(plan, at); why != "" {
		e.end(ctx, plan, outdated(why))
		return
	}
	if !plan.IsReserved() {
		e.set(ctx, plan, plan.Status.Phase, unreserved(plan))
		return
	}
	if err := e.marks.mark(ctx, plan); err != nil {
		e.set(ctx, plan, plan.Status.Phase, fmt.Sprintf("waits: cannot mark the nodes that become empty: %v", err))
		return
	}
	step := &plan.Spec.Steps[at]
	siblings := e.newcomers.mistakable(step)
	next := e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) {
		status.Phase = v1alpha1.Executing
		if status.Started == nil {
			status.Started = new(e.now())
		}
		status.Steps[at].Phase, status.Steps[at].Siblings = v1alpha1.StepEvicting, siblings
		status.Message = fmt.Sprintf("evicting %s from %s", step.Pod, step.From)
	})
	if next != nil {
		e.tries[step.Pod.UID] = try{} // nobody has asked for it
		e.evict(ctx, next, at)
	}
}

// partsGang reports whether a gang has moved in part if the plan ends before a step.
func partsGang(plan *v1alpha1.ReschedulingPlan, at int) bool {
	gang := func(i int) string { return plan.Spec.Steps[i].Gang }
	for done := range at {
		for left := at; left < len(plan.Spec.Steps); left++ {
			if gang(done) != "" && gang(done) == gang(left) {
				return true
			}
		}
	}
	return false
}

// awaitBeneficiaries waits for the pods that room was made for, as long as they fit there.
func (e *Executor) awaitBeneficiaries(ctx context.Context, plan *v1alpha1.ReschedulingPlan) {
	waiting := e.waiting(plan)
	if len(waiting) == 0 {
		e.end(ctx, plan, succeeded("all pods have moved"))
		return
	}
	if reason, why := plan.GivenUp(); reason != "" {
		e.fail(ctx, plan, why)
		return
	}
	// Members of a gang take each other's places, so that the place of each is not known.
	if !slices.ContainsFunc(waiting, func(b v1alpha1.Beneficiary) bool { return b.Gang != "" }) {
		if why := e.check(plan, len(plan.Spec.Steps)); why != "" {
			e.end(ctx, plan, outdated(why))
			return
		}
	}
	for _, b := range waiting {
		e.nominate(ctx, plan, e.Cluster.PendingPod(b.UID), b.Node)
	}
	e.set(ctx, plan, v1alpha1.Executing, fmt.Sprintf("waits until %s is bound to %s", waiting[0], waiting[0].Node))
}

// waiting returns the beneficiaries that have no place yet.
func (e *Executor) waiting(plan *v1alpha1.ReschedulingPlan) (waiting []v1alpha1.Beneficiary) {
	for _, b := range plan.Spec.Beneficiaries {
		if e.Cluster.PendingPod(b.UID) != nil {
			waiting = append(waiting, b)
		}
	}
	return waiting
}

// set writes the phase and what the plan waits for, if that is something else than before.
func (e *Executor) set(ctx context.Context, plan *v1alpha1.ReschedulingPlan, phase v1alpha1.Phase, message string) {
	if plan.Status.Phase != phase || plan.Status.Message != message {
		e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) { status.Phase, status.Message = phase, message })
	}
}

// write changes the status of a plan. It returns nil when that has failed: somebody else has
// changed the plan, and what is to be done is seen when the watch has shown it.
func (e *Executor) write(
	ctx context.Context, plan *v1alpha1.ReschedulingPlan, change func(*v1alpha1.ReschedulingPlanStatus),
) *v1alpha1.ReschedulingPlan {
	return e.writeBecause(ctx, plan, "", change)
}

// writeBecause is write for a condition with another reason than the phase, unless that is "".
func (e *Executor) writeBecause(
	ctx context.Context, plan *v1alpha1.ReschedulingPlan, reason string, change func(*v1alpha1.ReschedulingPlanStatus),
) *v1alpha1.ReschedulingPlan {
	next := plan.DeepCopy()
	for len(next.Status.Steps) < len(next.Spec.Steps) {
		next.Status.Steps = append(next.Status.Steps, v1alpha1.StepStatus{Phase: v1alpha1.StepWaiting})
	}
	change(&next.Status)
	moved := 0
	for _, step := range next.Status.Steps {
		if step.Phase == v1alpha1.StepMoved {
			moved++
		}
	}
	next.Status.Moved = fmt.Sprintf("%d/%d", moved, len(next.Spec.Steps))
	finished := metav1.Condition{
		Type:               v1alpha1.ConditionFinished,
		Status:             metav1.ConditionFalse,
		Reason:             cmp.Or(reason, string(next.Status.Phase)),
		Message:            next.Status.Message,
		LastTransitionTime: e.now(),
	}
	if next.Ended() {
		finished.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&next.Status.Conditions, finished)
	written, err := e.Client.UpdateStatus(ctx, next)
	if err != nil {
		e.Logger.Warn("cannot write the status of a plan", "plan", plan.Name, "err", err)
		return nil
	}
	e.Reservations.Wrote(written)
	return written
}

// now returns the time as the API has it.
func (e *Executor) now() metav1.Time { return metav1.NewTime(e.Clock.Now()).Rfc3339Copy() }
