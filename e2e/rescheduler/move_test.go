package rescheduler

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
)

func TestAPodThatFitsNowhereGetsRoomThroughBudgetsThievesAndCrashes(t *testing.T) {
	t.Parallel()
	for name, way := range muster.Ways() {
		t.Run(name, func(t *testing.T) {
			if way.Selection == muster.Muster && way.Asked() { // as with Scheduler, its scheduler asks muster
				lab.Long(t)
			}
			l := newCluster(t, v1alpha1.Approve, way)
			before := l.small()
			l.createPod("big", "4")
			l.reschedule()
			made := l.awaitPlan(v1alpha1.Pending, "")
			l.forbidEvictions() // no plan would be made against a budget, so it comes after
			l.approve(made)
			waits := fmt.Sprintf("waits until a PodDisruptionBudget allows to evict default/%s", before.Name)
			l.awaitPlan(v1alpha1.Executing, waits)

			// Others want the room on both nodes, which is free. Neither process is there to remember.
			l.createPod("thief", "1")
			l.createStranger("stranger", "1")
			l.neverBound("thief", "stranger")
			l.crash()
			l.Must(l.server.Crash())
			l.Must(l.server.Restart(l.Context()))
			l.createPod("late-thief", "1")
			l.neverBound("thief", "late-thief", "stranger")
			l.Must(l.rescheduler.Restart(l.Context()))
			l.awaitPlan(v1alpha1.Executing, waits)
			if small := l.small(); small == nil || small.UID != before.UID {
				t.Fatalf("the pod was evicted against its budget: %v", small)
			}

			l.allowEvictions()
			plan := l.awaitPlan(v1alpha1.Succeeded, "")
			l.Eventually("it runs there", func() error { return l.isOn(l.Pod("big"), "n1") })
			l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n2") })
			l.neverBound("thief", "late-thief", "stranger")
			if got := plan.Status.Steps[0]; plan.Status.Moved != "1/1" || got.Node != "n2" || got.Replacement == nil ||
				got.Replacement.UID != l.small().UID {
				t.Errorf("the plan ended as %+v", plan.Status)
			}
			l.Eventually("an event on the pod", func() error { return l.told(before.UID, "Rescheduled") })
		})
	}
}

func TestNothingIsEvictedWithoutAYes(t *testing.T) {
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	before := l.small()
	l.createPod("big", "4")
	l.reschedule()
	l.awaitPlan(v1alpha1.Pending, "waits for the annotation rescheduling.muster.dev/approve=true")
	// No room is kept for a plan that may never be carried out.
	l.createPod("passer-by", "2")
	l.Eventually("passer-by runs", func() error {
		pod := l.Pod("passer-by")
		return l.isOn(pod, pod.Spec.NodeName)
	})
	if small := l.small(); small == nil || small.UID != before.UID {
		t.Fatalf("the pod was evicted without approval: %v", small)
	}
	l.RemovePod("passer-by")
	l.Eventually("a plan is carried out", l.carriesOut)
	l.Eventually("it runs there", func() error { return l.isOn(l.Pod("big"), "n1") })
	l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n2") })
}

func TestARateIsUsedUpThoughItsPlansAreDeletedAndItsProcessDies(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Auto, muster.Options{})
	l.configure(map[string]any{"budgets": map[string]any{"rate": map[string]any{"evictions": 1, "per": "1h"}}})
	l.createPod("big", "4")
	l.reschedule()
	l.awaitPlan(v1alpha1.Succeeded, "")
	l.crash()
	l.Must(l.Dynamic.Resource(v1alpha1.ReschedulingPlans()).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	l.Must(l.rescheduler.Restart(t.Context()))
	l.Eventually("the rate is used up", func() error { return l.shows("/debug/rescheduler", "there were 1 evictions in 1h0m0s") })
}

func TestAReschedulerGoesByItsConfigurationAsItIs(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Auto, muster.Options{})
	l.configure(map[string]any{"makeRoom": map[string]any{"pendingFor": "1h"}})
	l.createPod("big", "4")
	l.reschedule()
	l.Eventually("it looks", func() error { return l.shows("/debug/rescheduler", "no pod waits for long enough") })
	l.configure(map[string]any{"makeRoom": map[string]any{"pendingFor": "1s"}})
	l.Must(l.server.Reconfigure(l.rescheduler, l.options))
	l.awaitPlan(v1alpha1.Succeeded, "")
	l.Eventually("it runs there", func() error { return l.isOn(l.Pod("big"), "n1") })
	l.Must(l.rescheduler.Err())
}

func (l *cluster) approve(plan *v1alpha1.ReschedulingPlan) {
	l.Helper()
	_, err := l.Dynamic.Resource(v1alpha1.ReschedulingPlans()).Patch(l.Context(), plan.Name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"rescheduling.muster.dev/approve":"true"}}}`), metav1.PatchOptions{})
	l.Must(err)
}

// carriesOut approves each plan that waits for it, and says what they are until one has succeeded. A plan that waits
// while another pod takes its room ends, and the next one takes its place.
func (l *cluster) carriesOut() error {
	plans, err := l.plans()
	if err != nil {
		return err
	}
	phases := map[string]v1alpha1.Phase{}
	for _, plan := range plans {
		switch phases[plan.Name] = plan.Status.Phase; plan.Status.Phase {
		case v1alpha1.Succeeded:
			return nil
		case v1alpha1.Pending:
			l.approve(plan)
		}
	}
	return fmt.Errorf("the plans are %v", phases)
}

// forbidEvictions has a PodDisruptionBudget forbid to evict small.
func (l *cluster) forbidEvictions() {
	l.Helper()
	l.Create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "small"}},
			MaxUnavailable: new(intstr.FromInt32(0)),
		},
	})
}

func (l *cluster) allowEvictions() {
	l.Helper()
	_, err := l.Client.PolicyV1().
		PodDisruptionBudgets(namespace).
		Patch(l.Context(), "small", types.MergePatchType, []byte(`{"spec":{"maxUnavailable":1}}`), metav1.PatchOptions{})
	l.Must(err)
}

// neverBound says that pods were refused or kept back, and still are when a later one has come through.
func (l *cluster) neverBound(names ...string) {
	l.Helper()
	for _, name := range names {
		l.Eventually(name+" was tried, or kept back", func() error {
			if l.wantUnbound(name); !slices.ContainsFunc(l.Pod(name).Status.Conditions, func(c corev1.PodCondition) bool {
				waits := c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulingGated
				return c.Type == corev1.PodScheduled && waits
			}) {
				return errors.New("it was not")
			}
			return nil
		})
	}
	l.RemovePod(l.Barrier().Name)
	for _, name := range names {
		l.wantUnbound(name)
	}
}

func (l *cluster) wantUnbound(name string) {
	l.Helper()
	if node := l.Pod(name).Spec.NodeName; node != "" {
		l.Fatalf("%s is on %s", name, node)
	}
}

// told says whether there is an event about a pod, of a reason.
func (l *cluster) told(uid types.UID, reason string) error {
	events, err := l.Client.EventsV1().Events(namespace).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if event.Regarding.UID == uid && event.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("there is none")
}
