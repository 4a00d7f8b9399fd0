package extender_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// created are the gates that a pod has which the API server would create.
func (c *cluster) created(pod *corev1.Pod) (gates []string) {
	c.Helper()
	namespace := cmp.Or(pod.Namespace, workload.Namespace)
	made, err := c.client.CoreV1().Pods(namespace).Create(c.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
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
			if diff := gocmp.Diff(test.Gates, c.created(pod)); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoIsPlacedAheadIsGatedByThePolicyAndByTheWebhook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "server", "testdata", "ahead.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var tests []struct {
		Name    string
		OptedIn bool
		Pod     json.RawMessage
		Gates   []string
	}
	if err := yaml.UnmarshalStrict(text, &tests); err != nil || len(tests) == 0 {
		t.Fatalf("%d tests, error %v", len(tests), err)
	}
	const profiles = "profiles: [{schedulerName: default-scheduler, nodeSelection: Ahead}, {schedulerName: batch}]\n"
	for _, by := range []muster.Gatekeeper{muster.Policy, muster.Webhook} {
		t.Run(string(by), func(t *testing.T) {
			c := newCluster(t)
			if by == muster.Webhook {
				files, webhook := newTLSFiles(t), c.freeAddress()
				c.serve(serving{config: servingWebhook(webhook, files) + profiles, scheme: "https", client: files.client(t)})
				c.askForGates(webhook, files)
			} else {
				c.applyGatePolicy(c.serve(serving{config: profiles}))
			}
			in := c.namespace("ahead", map[string]string{v1alpha1.LabelAhead: "true"})
			for _, test := range tests {
				t.Run(test.Name, func(t *testing.T) {
					pod := newPod("trial", "1")
					if err := json.Unmarshal(test.Pod, pod); err != nil {
						t.Fatal(err)
					}
					if test.OptedIn {
						pod.Namespace = in
					}
					if diff := gocmp.Diff(test.Gates, c.created(pod)); diff != "" {
						t.Errorf("gates (-want +got):\n%s", diff)
					}
				})
			}
			// gangs.gates is Never, and the other profile places nobody ahead.
			for name, pod := range map[string]*corev1.Pod{
				"a member":               newPod("trial", "1", ofGang("g")),
				"a pod that is opted in": newPod("trial", "1", func(pod *corev1.Pod) { pod.Labels = map[string]string{v1alpha1.LabelAhead: "true"} }),
			} {
				pod.Spec.SchedulerName = "batch"
				if got := c.created(pod); len(got) > 0 {
					t.Errorf("%s of a profile without Ahead has the gates %v", name, got)
				}
			}
		})
	}
}

// namespace creates one, which is there until the test ends, and returns its name.
func (c *cluster) namespace(name string, labels map[string]string) string {
	c.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: labels}}
	made, err := c.client.CoreV1().Namespaces().Create(c.Context(), made, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		_ = c.client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	c.eventually("pods can be created there", func() error {
		_, err := c.client.CoreV1().ServiceAccounts(made.Name).Get(c.Context(), "default", metav1.GetOptions{})
		return err
	})
	return made.Name
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
	if diff := gocmp.Diff(want, made.Spec.Containers[0].Env); diff != "" || !muster.Gated(made) {
		t.Errorf("gates %v, variables (-want +got):\n%s", made.Spec.SchedulingGates, diff)
	}
}
