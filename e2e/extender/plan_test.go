package extender_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// TestPlanOfALiveCluster has muster plan look at a cluster in which a pod fits nowhere, and
// does after one move.
func TestPlanOfALiveCluster(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 2, "4")...)
	owned := func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
	}
	c.createPods(workload.NewPod("web", "1", owned, workload.On("node-00")), workload.NewPod("single", "2", workload.On("node-01")))
	if status, plan := c.planNow(); status != 0 || len(plan.Steps) > 0 {
		t.Errorf("no pod waits: status %d, plan %+v", status, plan)
	}

	c.createPods(workload.NewPod("large", "4"))
	status, plan := c.planNow()
	if status != 2 {
		t.Errorf("exit status %d, want 2", status)
	}
	if diff := cmp.Diff([]planStep{{Pod: "default/web", From: "node-00", To: "node-01"}}, plan.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	pods := c.Pods()
	if pods["web"].Spec.NodeName != "node-00" || pods["web"].DeletionTimestamp != nil || pods["large"].Spec.NodeName != "" {
		t.Errorf("a plan changed something: %+v", pods)
	}

	if status, _ := c.planNow("--selector", "app=other"); status != 3 {
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
func (c *cluster) planNow(flags ...string) (status int, plan printedPlan) {
	c.Helper()
	args := append([]string{"plan", "--kubeconfig=" + c.Kubeconfig(), "--output=json"}, flags...)
	cmd := exec.CommandContext(c.Context(), lab.Program(c.T), args...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status, err = exit.ExitCode(), nil
		c.Logf("standard error: %s", exit.Stderr)
	}
	c.Must(err)
	if err := json.Unmarshal(out, &plan); err != nil {
		c.Fatalf("status %d: %v: %s", status, err, out)
	}
	return status, plan
}
