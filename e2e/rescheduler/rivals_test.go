package rescheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestRoomIsKeptFromPodsOfHigherPriorityForAsLongAsThePlanLasts(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	l.Create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000})
	before := l.small()
	l.waitForBudget(before)

	// n2 is free, and on n1 there is a pod of lower priority.
	l.Eventually("the admission of pods knows the priority class", func() error {
		return l.Try(workload.NewPod("rival", "2", workload.OfPriority("high")))
	})
	l.neverBound("rival")
	if small := l.small(); small == nil || small.UID != before.UID {
		t.Fatalf("the pod was evicted for the rival: %v", small)
	}
	l.allowEvictions()
	l.awaitPlan(v1alpha1.Succeeded, "")
	// From then on its priority counts: it takes what it can.
	l.Eventually("the rival runs", func() error {
		rival := l.Pod("rival")
		return l.isOn(rival, rival.Spec.NodeName)
	})
}

func TestAnotherReplicaGoesOnWithAPlan(t *testing.T) {
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	l.options.Config["leaderElection"] = map[string]any{"leaseDuration": "8s"}
	l.waitForBudget(l.small())
	frozen := l.rescheduler
	l.reschedule() // another one, which waits for the lease
	l.Must(frozen.Pause())
	l.allowEvictions()
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	l.Eventually("it runs there", func() error { return l.isOn(l.Pod("big"), "n1") })
	l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n2") })

	// The one that slept believes in its lease until it looks.
	l.Must(frozen.Resume())
	l.Eventually("it ends", func() error {
		if err := frozen.Err(); err == nil || !strings.Contains(err.Error(), "leadership lost") {
			return fmt.Errorf("it ended as %w", err)
		}
		return nil
	})
	after, err := l.plan()
	l.Must(err)
	if diff := cmp.Diff(plan.Status, after.Status); diff != "" {
		t.Errorf("the plan was changed once more (-before +after):\n%s", diff)
	}
}

// waitForBudget has a plan to move a pod wait until a PodDisruptionBudget allows that.
func (l *cluster) waitForBudget(small *corev1.Pod) {
	l.Helper()
	l.createPod("big", "4")
	l.reschedule()
	made := l.awaitPlan(v1alpha1.Pending, "")
	l.forbidEvictions()
	l.approve(made)
	l.awaitPlan(v1alpha1.Executing, fmt.Sprintf("waits until a PodDisruptionBudget allows to evict %s/%s", namespace, small.Name))
}
