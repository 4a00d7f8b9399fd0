package rescheduler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
)

func TestAPodThatFitsNowhereGetsRoomThroughBudgetsThievesAndCrashes(t *testing.T) {
	for _, selection := range []muster.Selection{muster.Scheduler, muster.Extender, muster.Nominate, muster.Ahead} {
		t.Run(string(selection), func(t *testing.T) {
			l := newLab(t, v1alpha1.Approve, selection)
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
			l.rescheduler.Crash()
			l.must(l.server.Crash())
			l.must(l.server.Restart(l.Context()))
			l.createPod("late-thief", "1")
			l.neverBound("thief", "late-thief", "stranger")
			l.must(l.rescheduler.Restart(l.Context()))
			l.awaitPlan(v1alpha1.Executing, waits)
			if small := l.small(); small == nil || small.UID != before.UID {
				t.Fatalf("the pod was evicted against its budget: %v", small)
			}

			l.allowEvictions()
			plan := l.awaitPlan(v1alpha1.Succeeded, "")
			l.must(isOn(l.pod("big"), "n1"))
			l.must(isOn(l.small(), "n2"))
			l.neverBound("thief", "late-thief", "stranger")
			if got := plan.Status.Steps[0]; plan.Status.Moved != "1/1" || got.Node != "n2" || got.Replacement == nil ||
				got.Replacement.UID != l.small().UID {
				t.Errorf("the plan ended as %+v", plan.Status)
			}
			l.eventually("an event on the pod", func() error { return l.told(before.UID, "Rescheduled") })
		})
	}
}

func TestNothingIsEvictedWithoutAYes(t *testing.T) {
	l := newLab(t, v1alpha1.Approve, muster.Scheduler)
	before := l.small()
	l.createPod("big", "4")
	l.reschedule()
	plan := l.awaitPlan(v1alpha1.Pending, "waits for the annotation rescheduling.muster.dev/approve=true")
	// No room is kept for a plan that may never be carried out.
	l.createPod("passer-by", "2")
	l.eventually("passer-by runs", func() error {
		pod := l.pod("passer-by")
		return isOn(pod, pod.Spec.NodeName)
	})
	if small := l.small(); small == nil || small.UID != before.UID {
		t.Fatalf("the pod was evicted without approval: %v", small)
	}
	l.must(l.client.CoreV1().Pods(namespace).Delete(t.Context(), "passer-by", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	l.approve(plan)
	l.awaitPlan(v1alpha1.Succeeded, "")
	l.must(isOn(l.pod("big"), "n1"))
	l.must(isOn(l.small(), "n2"))
}

func TestARateIsUsedUpThoughItsPlansAreDeletedAndItsProcessDies(t *testing.T) {
	l := newLab(t, v1alpha1.Auto, muster.Scheduler)
	l.configure(map[string]any{"budgets": map[string]any{"rate": map[string]any{"evictions": 1, "per": "1h"}}})
	l.createPod("big", "4")
	l.reschedule()
	l.awaitPlan(v1alpha1.Succeeded, "")
	l.rescheduler.Crash()
	l.must(l.dynamic.Resource(v1alpha1.ReschedulingPlans()).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	l.must(l.rescheduler.Restart(t.Context()))
	l.eventually("the rate is used up", func() error { return l.shows("/debug/rescheduler", "there were 1 evictions in 1h0m0s") })
}

func TestAReschedulerGoesByItsConfigurationAsItIs(t *testing.T) {
	l := newLab(t, v1alpha1.Auto, muster.Scheduler)
	l.configure(map[string]any{"makeRoom": map[string]any{"pendingFor": "1h"}})
	l.createPod("big", "4")
	l.reschedule()
	l.eventually("it looks", func() error { return l.shows("/debug/rescheduler", "no pod waits for long enough") })
	l.configure(map[string]any{"makeRoom": map[string]any{"pendingFor": "1s"}})
	l.must(l.server.Reconfigure(l.rescheduler, l.options))
	l.awaitPlan(v1alpha1.Succeeded, "")
	l.must(isOn(l.pod("big"), "n1"))
	l.must(l.rescheduler.Err())
}

func (l *lab) approve(plan *v1alpha1.ReschedulingPlan) {
	l.Helper()
	_, err := l.dynamic.Resource(v1alpha1.ReschedulingPlans()).Patch(l.Context(), plan.Name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"rescheduling.muster.dev/approve":"true"}}}`), metav1.PatchOptions{})
	l.must(err)
}

// forbidEvictions has a PodDisruptionBudget forbid to evict small.
func (l *lab) forbidEvictions() {
	l.Helper()
	most := intstr.FromInt32(0)
	_, err := l.client.PolicyV1().PodDisruptionBudgets(namespace).Create(l.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "small"}},
			MaxUnavailable: &most,
		},
	}, metav1.CreateOptions{})
	l.must(err)
}

func (l *lab) allowEvictions() {
	l.Helper()
	_, err := l.client.PolicyV1().
		PodDisruptionBudgets(namespace).
		Patch(l.Context(), "small", types.MergePatchType, []byte(`{"spec":{"maxUnavailable":1}}`), metav1.PatchOptions{})
	l.must(err)
}

// neverBound says that the scheduler has tried pods, and that none has a node.
func (l *lab) neverBound(names ...string) {
	l.Helper()
	for _, name := range names {
		l.eventually(name+" was tried, or kept back", func() error {
			for _, c := range l.pod(name).Status.Conditions {
				if c.Type == corev1.PodScheduled && (c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulingGated) {
					return nil
				}
			}
			if node := l.pod(name).Spec.NodeName; node != "" {
				l.Fatalf("%s is on %s", name, node)
			}
			return fmt.Errorf("it was not tried")
		})
		if node := l.pod(name).Spec.NodeName; node != "" {
			l.Fatalf("%s is on %s", name, node)
		}
	}
}

// told says whether there is an event about a pod, of a reason.
func (l *lab) told(uid types.UID, reason string) error {
	events, err := l.client.EventsV1().Events(namespace).List(l.Context(), metav1.ListOptions{})
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
