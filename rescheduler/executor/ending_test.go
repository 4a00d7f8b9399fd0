package executor

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// configure has a new process go on, in another mode.
func (w *world) configure(mode v1alpha1.Mode) {
	w.options.Mode = mode
	w.restart()
}

// approve has somebody approve of the plan.
func (w *world) approve() {
	next := w.stored.DeepCopy()
	next.Annotations = map[string]string{v1alpha1.AnnotationApprove: "true"}
	w.stored = next
	w.reservations.Set(next)
}

const (
	saysDryRun  = "rescheduler.mode is DryRun by now"
	saysApprove = "rescheduler.mode is Approve by now, and nobody has approved of the plan"
)

// wantStopped wants the plan to have ended because of the mode, and to hold nothing.
func (w *world) wantStopped(step v1alpha1.StepPhase, message string) {
	w.Helper()
	w.want(v1alpha1.Failed, step, message)
	finished := meta.FindStatusCondition(w.stored.Status.Conditions, v1alpha1.ConditionFinished)
	if finished.Status != metav1.ConditionTrue || finished.Reason != reasonModeChanged || finished.Message != w.stored.Status.Message {
		w.Errorf("the condition is %+v", finished)
	}
	if kept := w.reservations.Report(); len(kept) > 0 {
		w.Errorf("room is kept: %v", kept)
	}
}

func TestAPlanDoesNotBeginInAStricterMode(t *testing.T) {
	for name, test := range map[string]struct {
		plan, configured v1alpha1.Mode
		want             string
	}{
		"made under Auto, and DryRun now":    {v1alpha1.Auto, v1alpha1.DryRun, "waits: rescheduler.mode is DryRun"},
		"made under Approve, and DryRun now": {v1alpha1.Approve, v1alpha1.DryRun, "waits: rescheduler.mode is DryRun"},
		"made under Auto, and Approve now":   {v1alpha1.Auto, v1alpha1.Approve, "waits for the annotation rescheduling.muster.dev/approve=true"},
		"made under Approve, and Auto now":   {v1alpha1.Approve, v1alpha1.Auto, "waits for the annotation rescheduling.muster.dev/approve=true"},
		"made under DryRun, and Auto now":    {v1alpha1.DryRun, v1alpha1.Auto, "is never carried out: its mode is DryRun"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.plan)
			w.configure(test.configured)
			w.want(v1alpha1.Pending, v1alpha1.StepWaiting, test.want)
			if w.executor.Busy() {
				t.Error("it is in the way of others")
			}
			w.approve()
			may := test.plan != v1alpha1.DryRun && test.configured != v1alpha1.DryRun
			if phase, _, message := w.advance(); (phase == v1alpha1.Executing) != may {
				t.Errorf("approved, it is %s: %s", phase, message)
			}
		})
	}
}

func TestAPlanThatRunsStopsAtTheNextStepInAStricterMode(t *testing.T) {
	for mode, says := range map[v1alpha1.Mode]string{v1alpha1.DryRun: saysDryRun, v1alpha1.Approve: saysApprove} {
		t.Run("its room is kept, and now the mode is "+string(mode), func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.reserved(metav1.ConditionFalse, "")
			w.want(v1alpha1.Approved, v1alpha1.StepWaiting, awaitsRoom)
			w.reserved(metav1.ConditionTrue, "")
			w.configure(mode)
			w.wantStopped(v1alpha1.StepWaiting, says)
		})
		t.Run("a budget forbids its eviction, and now the mode is "+string(mode), func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.refusal = apierrors.NewTooManyRequests("budget", 0)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget")
			w.refusal = nil
			w.configure(mode)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits to see what becomes of the eviction of default/small-1: "+says)
			w.clock.Step(settling)
			w.wantStopped(v1alpha1.StepEvicting, says)
			if len(w.evicted) > 0 {
				t.Errorf("evicted %v", w.evicted)
			}
		})
		t.Run("a replacement is awaited, and now the mode is "+string(mode), func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.moveAnother("default/gang") // even in the middle of a gang
			other := w.small("other-1", "n1")
			other.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-time.Hour))
			w.set(other)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.configure(mode)
			w.gone("small-1")
			w.set(w.small("small-2", ""))
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "default/small-2, which replaces default/small-1, has no node yet")
			if told := len(w.nominated) > 0; told != (mode != v1alpha1.DryRun) {
				t.Errorf("nominated %q", w.nominated)
			}
			w.set(w.small("small-2", "n2"))
			w.wantStopped(v1alpha1.StepMoved, says)
			if !slices.Equal(w.evicted, []string{"small-1"}) {
				t.Errorf("evicted %v", w.evicted)
			}
		})
		t.Run("its node is marked, and now the mode is "+string(mode), func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.options.Mark = config.MarkCordon
			w.restart()
			next := w.stored.DeepCopy()
			next.Spec.Beneficiaries, next.Spec.Empties = nil, []string{"n1"}
			w.stored = next
			w.reservations.Set(next)
			w.refusal = apierrors.NewTooManyRequests("budget", 0)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget")
			if !w.cluster.Snapshot().NodeByName("n1").Spec.Unschedulable {
				t.Fatal("the node is not cordoned")
			}
			w.configure(mode)
			w.advance()
			w.clock.Step(settling)
			w.wantStopped(v1alpha1.StepEvicting, says)
			if n1 := w.cluster.Snapshot().NodeByName("n1"); n1.Spec.Unschedulable || len(n1.Annotations) > 0 {
				t.Errorf("the node is left cordoned (%v) and annotated %v", n1.Spec.Unschedulable, n1.Annotations)
			}
		})
	}
}

func TestAPlanThatSomebodyHasApprovedOfGoesOnUnderApprove(t *testing.T) {
	for name, mode := range map[string]v1alpha1.Mode{"made under Auto": v1alpha1.Auto, "made under Approve": v1alpha1.Approve} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, mode)
			w.approve()
			w.reserved(metav1.ConditionFalse, "")
			w.want(v1alpha1.Approved, v1alpha1.StepWaiting, awaitsRoom)
			w.reserved(metav1.ConditionTrue, "")
			w.configure(v1alpha1.Approve)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "nothing has come")
		})
	}
}
