package chart

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/server/preflight"
)

// preflight asks a cluster, and returns what was found out and the exit status.
func (c *cluster) preflight(config, kubeconfig string, args ...string) (map[string]preflight.Check, int) {
	c.Helper()
	args = append([]string{"preflight", "--output=json", "--config=" + config, "--kubeconfig=" + kubeconfig}, args...)
	status := 0
	out, err := musterSaid(c.T, args...)
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		status = exit.ExitCode()
	} else {
		c.Must(err)
	}
	var report preflight.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		c.Fatalf("%v: %v:\n%s", args, err, out)
	}
	checks := map[string]preflight.Check{}
	for _, check := range report.Checks {
		checks[check.Check] = check
	}
	return checks, status
}

func TestPreflightTellsWhatAClusterAllows(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	config := configOf(t, render(t, "--values", way("ahead")))
	want := func(when string, checks map[string]preflight.Check, status, wantStatus int, states map[string]preflight.State) {
		t.Helper()
		if status != wantStatus {
			t.Errorf("%s: exit status %d, want %d: %+v", when, status, wantStatus, checks)
		}
		for check, state := range states {
			if got, there := checks[check]; !there || got.State != state {
				t.Errorf("%s: %s is %+v, want %s", when, check, got, state)
			}
		}
	}
	const features = "feature gates that muster does not follow"
	const members, pods, podGroups = "policy that gates members", "policy that gates pods of no group", "PodGroups of scheduling.x-k8s.io"

	checks, status := c.preflight(config, c.Kubeconfig())
	want("before it is installed", checks, status, 0, map[string]preflight.State{
		"Kubernetes 1.30.0": preflight.OK, "MutatingAdmissionPolicy": preflight.OK, members: preflight.Missing, pods: preflight.Missing,
		podGroups: preflight.Missing, "rights": preflight.OK, "lease of kube-scheduler": preflight.Unknown, "extender": preflight.Unknown,
		"namespaces that are opted in": preflight.OK, features: preflight.OK,
	})
	checks, status = c.preflight(config, c.Kubeconfig(), "--as=system:serviceaccount:default:default")
	want("by somebody who may do nothing", checks, status, 1, map[string]preflight.State{
		"right to patch pods": preflight.Missing, "right to list, watch nodes": preflight.Missing, members: preflight.Unknown,
		"lease of kube-scheduler": preflight.Missing, features: preflight.Unknown,
	})

	c.install("--values", way("ahead"))
	c.optIn()
	c.Eventually("the rights of muster's account are there", func() error {
		checks, status = c.preflight(config, c.kubeconfigOf("muster"))
		if status != 0 {
			return errors.New("something is missing")
		}
		return nil
	})
	want("as muster's account", checks, status, 0, map[string]preflight.State{
		"rights": preflight.OK, members: preflight.Unknown, pods: preflight.Unknown, podGroups: preflight.OK,
		"lease of kube-scheduler": preflight.Unknown,
	})
	for name, check := range checks {
		if strings.HasPrefix(name, "right to ") {
			t.Errorf("the chart's role lacks the %s: %s", name, check.Found)
		}
	}
	checks, status = c.preflight(config, c.Kubeconfig())
	want("once it is installed", checks, status, 0, map[string]preflight.State{members: preflight.OK, pods: preflight.OK})
	if got := checks["namespaces that are opted in"].Found; got != "default" {
		t.Errorf("%q are opted in, want default", got)
	}

	_, err := c.Client.AdmissionregistrationV1().MutatingAdmissionPolicies().Patch(t.Context(), "muster-ahead", types.JSONPatchType,
		[]byte(`[{"op": "replace", "path": "/spec/matchConditions/0/expression", "value": "true"}]`), metav1.PatchOptions{})
	c.Must(err)
	checks, status = c.preflight(config, c.Kubeconfig())
	want("once a policy is another one", checks, status, 1, map[string]preflight.State{members: preflight.OK, pods: preflight.Missing})
	c.Must(c.Client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Delete(t.Context(), "muster", metav1.DeleteOptions{}))
	checks, status = c.preflight(config, c.Kubeconfig())
	want("once a binding is gone", checks, status, 1, map[string]preflight.State{members: preflight.Missing})
}
