package reservation

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Writer writes the status of a plan, provided that it is of that version still, and returns it as
// it is then.
type Writer interface {
	UpdateStatus(ctx context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error)
}

// Scheduler is kube-scheduler, where it does not ask this process: it has to be told of room in some other way.
type Scheduler interface {
	// Knows reports whether it keeps the room of a plan. If not, it says what is in the way, "" when it only takes time.
	Knows(plan *v1alpha1.ReschedulingPlan) (knows bool, why string)
}

// Reasons of [v1alpha1.ConditionReserved].
const (
	reasonKept    = "RoomIsKept"
	reasonNotKept = "RoomIsNotThere"
	reasonNotTold = "SchedulerIsNotTold"
)

// Confirm answers for the room of plans, by [v1alpha1.ConditionReserved], until the context ends. It
// is for the process that the scheduler asks, and for no other: what that does not know of a plan
// it does not honour, and the rescheduler does not know of pods that are being bound, of gangs that are held
// until all of their members have a place, and of what else counts on a node by the word of this
// process alone. So a plan that is not about to fit in this view is not confirmed; as
// its reservations are in force already, nobody else comes in between. Before that, the scheduler has to know of them.
func (k *Keeper) Confirm(ctx context.Context, to Writer, scheduler Scheduler) {
	ticker := k.clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		for _, plan := range k.Plans() {
			if condition := k.answer(scheduler, plan); condition != nil {
				k.say(ctx, to, plan, *condition)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		case <-k.news:
		}
	}
}

// answer returns the condition about the room of a plan to write now, nil for nothing.
func (k *Keeper) answer(scheduler Scheduler, plan *v1alpha1.ReschedulingPlan) *metav1.Condition {
	reserving, gaveUp := k.standing(plan)
	if reason, _ := plan.GivenUp(); reason != "" || !reserving {
		return nil
	}
	condition := &metav1.Condition{
		Type: v1alpha1.ConditionReserved, Status: metav1.ConditionTrue, Reason: reasonKept,
		Message: "nobody else gets the room", LastTransitionTime: metav1.NewTime(k.clock.Now()).Rfc3339Copy(),
	}
	if gaveUp != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, gaveUp.reason, gaveUp.message
		return condition
	}
	if plan.IsReserved() {
		return nil
	}
	switch knows, why := scheduler.Knows(plan); {
	case knows:
	case why == "":
		return nil
	default:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reasonNotTold, why
	}
	if condition.Status == metav1.ConditionTrue && plan.Status.Phase == v1alpha1.Approved { // one that has begun has taken its room
		if why := (&Rehearsal{Cluster: k.cluster, Profiles: k.profiles}).Objection(plan, 0); why != "" {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reasonNotKept, why
		}
	}
	return condition
}

// say writes a condition of a plan, if that is something else than before.
func (k *Keeper) say(ctx context.Context, to Writer, plan *v1alpha1.ReschedulingPlan, condition metav1.Condition) {
	next := plan.DeepCopy()
	if !meta.SetStatusCondition(&next.Status.Conditions, condition) {
		return
	}
	switch written, err := to.UpdateStatus(ctx, next); {
	case err == nil:
		k.Wrote(written)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err): // the watch will show why
	default:
		k.log.Warn("cannot say that the room of a plan is kept", slog.String("plan", plan.Name), slog.Any("err", err))
	}
}

// callTimeout is how long the API server may take to answer.
const callTimeout = 10 * time.Second

// RESTWriter is a [Writer] to the API server.
type RESTWriter struct{ plans dynamic.ResourceInterface }

// NewWriter makes one.
func NewWriter(objects dynamic.Interface) *RESTWriter {
	return &RESTWriter{plans: objects.Resource(v1alpha1.ReschedulingPlans())}
}

// UpdateStatus implements [Writer].
func (w *RESTWriter) UpdateStatus(ctx context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object, err := v1alpha1.Encode(plan)
	if err != nil {
		return nil, err
	}
	written, err := w.plans.UpdateStatus(ctx, object, metav1.UpdateOptions{FieldManager: cluster.FieldManager})
	if err != nil {
		return nil, err
	}
	return v1alpha1.Decode(written)
}
