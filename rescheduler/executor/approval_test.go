package executor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// newWaiting is a world whose plan waits for approval, for a day at most.
func newWaiting(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, v1alpha1.Approve)
	w.configure(v1alpha1.Approve)
	w.stored.Spec.Expires = metav1.NewTime(w.clock.Now().Add(24 * time.Hour))
	w.reserved(metav1.ConditionTrue, "")
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for the annotation")
	return w
}

func (w *world) wantReason(reason string) {
	w.Helper()
	if finished := meta.FindStatusCondition(w.stored.Status.Conditions, v1alpha1.ConditionFinished); finished.Reason != reason {
		w.Errorf("the condition is %+v, want reason %s", finished, reason)
	}
}

func TestTheTimeOfAPlanCountsFromItsApproval(t *testing.T) {
	w := newWaiting(t)
	w.clock.Step(20 * time.Hour)
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for the annotation")
	if kept := w.reservations.Report(); len(kept) > 0 {
		t.Errorf("room is kept for a plan that nobody has approved of: %v", kept)
	}
	w.refusal = apierrors.NewTooManyRequests("budget", 0)
	w.approve()
	approved := w.clock.Now()
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget")
	if s := w.stored.Status; !s.Approved.Time.Equal(approved) || w.stored.Lasts() != 10*time.Minute {
		t.Errorf("approved at %s, it lasts for %s", s.Approved, w.stored.Lasts())
	}
	w.clock.Step(8 * time.Minute)
	w.restart() // which does not start over
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "")
	w.clock.Step(2 * time.Minute)
	w.want(v1alpha1.Expired, v1alpha1.StepEvicted, "its time was up: ") // what became of the eviction is not known
	w.wantReason("Expired")
}

func TestTheTimeOfAPlanThatWaitsForItsTurnCountsFromItsApproval(t *testing.T) {
	w := newWaiting(t)
	w.options.Limits.Windows = []Window{{From: time.Hour, To: 2 * time.Hour, Zone: time.UTC}}
	w.restart()
	w.approve()
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for a maintenance window")
	approved := w.stored.Status.Approved
	w.clock.Step(10*time.Minute - time.Second)
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for a maintenance window")
	w.clock.Step(time.Second)
	w.want(v1alpha1.Expired, v1alpha1.StepWaiting, "its time was up before it began")
	if !w.stored.Status.Approved.Equal(approved) {
		t.Errorf("approved at %s, and later at %s", approved, w.stored.Status.Approved)
	}
}

func TestTheTimeOfAPlanDoesNotCountAnewWhenItBegins(t *testing.T) {
	w := newWaiting(t)
	w.options.Limits.Windows = []Window{{From: 12*time.Hour + 5*time.Minute, To: 14 * time.Hour, Zone: time.UTC}}
	w.restart()
	w.approve()
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for a maintenance window")
	expires := w.stored.Expires()
	w.clock.Step(5 * time.Minute)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	if !w.stored.Expires().Equal(expires) {
		t.Errorf("it expires at %s, and later at %s", expires, w.stored.Expires())
	}
}

func TestAPlanDoesNotWaitForApprovalForEver(t *testing.T) {
	w := newWaiting(t)
	w.clock.Step(24 * time.Hour)
	w.want(v1alpha1.Expired, v1alpha1.StepWaiting, "nobody has approved of it in time")
}

func TestAPlanThatWaitsForApprovalIsSupersededWhenTheClusterHasChanged(t *testing.T) {
	full := func(w *world) { other := w.pod("o", "1"); other.Spec.NodeName = "n2"; w.set(other) }
	for name, test := range map[string]struct {
		change func(*world)
		want   string // "" if the plan stays
	}{
		"it has not":               {func(*world) {}, ""},
		"the target is full":       {full, "n2 does not take what replaces default/small-1 any more: Insufficient cpu"},
		"nobody waits any more":    {func(w *world) { w.gone("big") }, "nobody waits any more"},
		"somebody has approved":    {func(w *world) { full(w); w.approve() }, ""},
		"the target is cordoned":   {func(w *world) { w.change("n2", func(n *corev1.Node) { n.Spec.Unschedulable = true }) }, "n2 does not take"},
		"the pod has moved itself": {func(w *world) { w.gone("small-1") }, "default/small-1 is not on n1 any more"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiting(t)
			test.change(w)
			if got := w.executor.Supersede(t.Context(), w.stored); got != (test.want != "") {
				t.Fatalf("superseded: %t", got)
			}
			if test.want == "" {
				return
			}
			w.want(v1alpha1.Expired, v1alpha1.StepWaiting, test.want)
			w.wantReason(reasonClusterChanged)
		})
	}
}

func TestAnApprovedPlanThatDoesNotWorkAnyMoreIsRefused(t *testing.T) {
	w := newWaiting(t)
	other := w.pod("o", "1")
	other.Spec.NodeName = "n2"
	w.set(other)
	w.approve()
	w.want(v1alpha1.Failed, v1alpha1.StepWaiting, "n2 does not take what replaces default/small-1 any more: Insufficient cpu")
	w.wantReason(reasonClusterChanged)
	if len(w.evicted) > 0 {
		t.Errorf("evicted %v", w.evicted)
	}
}
