package rescheduler

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestANodeThatIsEmptiedIsCordonedAndOpenedAgainWhenThatFails(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	l.configure(map[string]any{
		"coalesce":  map[string]any{"enabled": true, "mark": "Cordon"},
		"scaleDown": map[string]any{"annotate": true},
	})
	l.createPod("stays", "0", workload.On("n2")) // without, n2 would be the empty node to leave alone
	l.Eventually("stays runs", func() error { return l.isOn(l.Pod("stays"), "n2") })
	l.reschedule()
	plan := l.awaitPlan(v1alpha1.Pending, "")
	if len(plan.Spec.Empties) != 1 || plan.Spec.Empties[0] != "n1" {
		t.Fatalf("the plan is %+v", plan.Spec)
	}
	l.Eventually("n1 says that it is removable", func() error {
		return l.isMarked("n1", false, map[string]string{v1alpha1.AnnotationRemovable: "true", v1alpha1.AnnotationRemovableSteps: "1"})
	})

	// While the plan waits for a budget it is deleted, and nobody is there to see it.
	l.forbidEvictions()
	l.approve(plan)
	l.Eventually("n1 is cordoned", func() error {
		return l.isMarked("n1", true, map[string]string{v1alpha1.AnnotationEmptying: plan.Name, v1alpha1.AnnotationCordoned: "true"})
	})
	// A process takes an eviction of unknown outcome for granted, and lets the pod be.
	l.awaitPlan(v1alpha1.Executing, fmt.Sprintf("waits until a PodDisruptionBudget allows to evict default/%s", l.small().Name))
	l.crash()
	l.Must(l.Dynamic.Resource(v1alpha1.ReschedulingPlans()).Delete(t.Context(), plan.Name, metav1.DeleteOptions{}))
	l.Must(l.rescheduler.Restart(t.Context()))
	l.Eventually("n1 is open again", func() error { return l.isMarked("n1", false, nil) })

	l.allowEvictions()
	again := l.awaitPlan(v1alpha1.Pending, "")
	l.approve(again)
	l.awaitPlan(v1alpha1.Succeeded, "all pods have moved")
	l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n2") })
	l.Eventually("n1 says that it is empty", func() error {
		return l.isMarked("n1", true, map[string]string{
			v1alpha1.AnnotationEmptied: again.Name, v1alpha1.AnnotationCordoned: "true",
			v1alpha1.AnnotationRemovable: "true", v1alpha1.AnnotationRemovableSteps: "0",
		})
	})
}

// isMarked says why a node has other marks than these, nil when it has them.
func (l *cluster) isMarked(name string, cordoned bool, want map[string]string) error {
	node, err := l.Client.CoreV1().Nodes().Get(l.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, mark := range []string{v1alpha1.AnnotationEmptying, v1alpha1.AnnotationEmptied, v1alpha1.AnnotationCordoned} {
		if got := node.Annotations[mark]; got != want[mark] {
			return fmt.Errorf("%s is %q, want %q", mark, got, want[mark])
		}
	}
	for mark, value := range want {
		if got := node.Annotations[mark]; got != value {
			return fmt.Errorf("%s is %q, want %q", mark, got, value)
		}
	}
	if node.Spec.Unschedulable != cordoned {
		return fmt.Errorf("unschedulable is %t", node.Spec.Unschedulable)
	}
	return nil
}

func TestTheCordonOfAUserOutlivesThePlan(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	l.configure(map[string]any{"coalesce": map[string]any{"enabled": true, "mark": "Cordon"}})
	l.createPod("stays", "0", workload.On("n2")) // without, n2 would be the empty node to leave alone
	l.Eventually("stays runs", func() error { return l.isOn(l.Pod("stays"), "n2") })
	l.reschedule()
	plan := l.awaitPlan(v1alpha1.Pending, "")
	l.forbidEvictions()
	l.approve(plan)
	l.Eventually("n1 is cordoned", func() error {
		return l.isMarked("n1", true, map[string]string{v1alpha1.AnnotationEmptying: plan.Name, v1alpha1.AnnotationCordoned: "true"})
	})
	l.crash() // so that nobody sees the node open
	l.cordon("n1", false)
	l.cordon("n1", true)
	l.Must(l.Dynamic.Resource(v1alpha1.ReschedulingPlans()).Delete(t.Context(), plan.Name, metav1.DeleteOptions{}))
	l.Must(l.rescheduler.Restart(t.Context()))
	l.Eventually("the marks are gone, and the cordon is not", func() error { return l.isMarked("n1", true, nil) })
}
