package extender_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// created are the gates that a pod has which the API server would create.
func (c *cluster) created(pod *corev1.Pod) (gates []string) {
	c.Helper()
	made, err := c.client.CoreV1().Pods(workload.Namespace).Create(c.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		c.Fatal(err)
	}
	for _, gate := range made.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	return gates
}

func TestThePolicyGatesWhomTheWebhookGates(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "server", "testdata", "gates.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var tests []struct {
		Name  string
		Pod   json.RawMessage
		Gates []string
	}
	if err := yaml.UnmarshalStrict(text, &tests); err != nil || len(tests) == 0 {
		t.Fatalf("%d tests, error %v", len(tests), err)
	}
	c := newCluster(t)
	c.applyGatePolicy(c.serve(serving{}))
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			pod := newPod("trial", "1")
			if err := json.Unmarshal(test.Pod, pod); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.Gates, c.created(pod)); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePolicyIsForTheSchedulersOfAllProfiles(t *testing.T) {
	c := newCluster(t)
	c.applyGatePolicy(c.serve(serving{config: "profiles: [{schedulerName: default-scheduler}, {schedulerName: batch}]"}))
	for name, want := range map[string]bool{corev1.DefaultSchedulerName: true, "batch": true, byHand: false} {
		pod := newPod("trial", "1", ofGang("g"), func(pod *corev1.Pod) { pod.Spec.SchedulerName = name })
		if got := c.created(pod); (len(got) > 0) != want {
			t.Errorf("gates of a pod for the scheduler %s: %v", name, got)
		}
	}
}

// An update of lists that are maps must not stumble over a key that is there twice, which the
// API allows here.
func TestAMemberIsGatedWhoseContainerHasAVariableTwice(t *testing.T) {
	c := newCluster(t)
	c.applyGatePolicy(c.serve(serving{}))
	made, err := c.client.CoreV1().Pods(workload.Namespace).Create(t.Context(), newPod("g-0", "1", ofGang("g"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "a", Value: "1"}, {Name: "b"}, {Name: "a", Value: "2"}}
	}), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{{Name: "a", Value: "1"}, {Name: "b"}, {Name: "a", Value: "2"}}
	if diff := cmp.Diff(want, made.Spec.Containers[0].Env); diff != "" || !muster.Gated(made) {
		t.Errorf("gates %v, variables (-want +got):\n%s", made.Spec.SchedulingGates, diff)
	}
}
