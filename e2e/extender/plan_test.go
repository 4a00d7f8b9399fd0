package extender_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPlanOfALiveCluster has muster plan look at a cluster in which a pod fits nowhere, and
// does after one move.
func TestPlanOfALiveCluster(t *testing.T) {
	c := newCluster(t, newNodes(2, "4")...)
	owned := func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
	}
	on := func(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }
	c.createPods(newPod("web", "1", owned, on("node-00")), newPod("single", "2", on("node-01")))
	if status, plan := planNow(t); status != 0 || len(plan.Steps) > 0 {
		t.Errorf("no pod waits: status %d, plan %+v", status, plan)
	}

	c.createPods(newPod("large", "4"))
	status, plan := planNow(t)
	if status != 2 {
		t.Errorf("exit status %d, want 2", status)
	}
	if diff := cmp.Diff([]planStep{{Pod: "default/web", From: "node-00", To: "node-01"}}, plan.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	pods, err := c.pods()
	if err != nil {
		t.Fatal(err)
	}
	if pods["web"].Spec.NodeName != "node-00" || pods["web"].DeletionTimestamp != nil || pods["large"].Spec.NodeName != "" {
		t.Errorf("a plan changed something: %+v", pods)
	}

	if status, _ := planNow(t, "--selector", "app=other"); status != 3 {
		t.Errorf("nobody may be moved: exit status %d, want 3", status)
	}
}

type planStep struct {
	Pod, From, To string
}

type printedPlan struct {
	Steps []planStep
}

// planNow runs muster plan and returns its exit status and what it printed.
func planNow(t *testing.T, flags ...string) (status int, plan printedPlan) {
	t.Helper()
	cmd := exec.CommandContext(
		t.Context(),
		shared.muster,
		append([]string{"plan", "--kubeconfig=" + shared.Kubeconfig(), "--output=json"}, flags...)...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status, err = exit.ExitCode(), nil
		t.Logf("standard error: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		t.Fatalf("status %d: %v: %s", status, err, out)
	}
	return status, plan
}
