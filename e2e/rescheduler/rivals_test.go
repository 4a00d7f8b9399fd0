package rescheduler

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

func TestRoomIsKeptFromPodsOfHigherPriorityForAsLongAsThePlanLasts(t *testing.T) {
	l := newLab(t, v1alpha1.Approve, muster.Scheduler)
	_, err := l.client.SchedulingV1().
		PriorityClasses().
		Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{})
	l.must(err)
	before := l.small()
	l.waitForBudget(before)

	// n2 is free, and on n1 there is a pod of lower priority.
	spec := podSpec("2")
	spec.PriorityClassName = "high"
	_, err = l.client.CoreV1().
		Pods(namespace).
		Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "rival"}, Spec: spec}, metav1.CreateOptions{})
	l.must(err)
	l.neverBound("rival")
	if small := l.small(); small == nil || small.UID != before.UID {
		t.Fatalf("the pod was evicted for the rival: %v", small)
	}
	l.allowEvictions()
	l.awaitPlan(v1alpha1.Succeeded, "")
	// From then on its priority counts: it takes what it can.
	l.eventually("the rival runs", func() error {
		rival := l.pod("rival")
		return isOn(rival, rival.Spec.NodeName)
	})
}

func TestAnotherReplicaGoesOnWithAPlan(t *testing.T) {
	l := newLab(t, v1alpha1.Approve, muster.Scheduler)
	l.waitForBudget(l.small())
	frozen := l.rescheduler
	port, err := process.FreePort()
	l.must(err)
	l.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l.reschedule() // another one, which waits for the lease
	l.must(frozen.Pause())
	l.allowEvictions()
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	l.must(isOn(l.pod("big"), "n1"))
	l.must(isOn(l.small(), "n2"))

	// The one that slept believes in its lease until it looks.
	l.must(frozen.Resume())
	l.eventually("it ends", func() error {
		if err := frozen.Err(); err == nil || !strings.Contains(err.Error(), "leadership lost") {
			return fmt.Errorf("it ended as %w", err)
		}
		return nil
	})
	after, err := l.plan()
	l.must(err)
	if diff := cmp.Diff(plan.Status, after.Status); diff != "" {
		t.Errorf("the plan was changed once more (-before +after):\n%s", diff)
	}
}

// waitForBudget has a plan to move a pod wait until a PodDisruptionBudget allows that.
func (l *lab) waitForBudget(small *corev1.Pod) {
	l.Helper()
	l.createPod("big", "4")
	l.reschedule()
	made := l.awaitPlan(v1alpha1.Pending, "")
	l.forbidEvictions()
	l.approve(made)
	l.awaitPlan(v1alpha1.Executing, fmt.Sprintf("waits until a PodDisruptionBudget allows to evict %s/%s", namespace, small.Name))
}
