package extender_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// costless returns the request of a managed pod.
func costless() corev1.ResourceList {
	one := resource.MustParse("1")
	return corev1.ResourceList{v1alpha1.ResourceManaged: one, v1alpha1.ResourceBound: one}
}

func managed(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Limits = costless()
	maps.Copy(pod.Spec.Containers[0].Resources.Requests, costless())
}

// The table of docs/install/registration.md, "When muster is down".
func TestWhoWaitsWhileMusterIsDown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		flags []string
		waits map[string]bool // while muster is down
	}{
		{"plain: all pods wait", nil, map[string]bool{"ordinary": true, "managed": true, "g-0": true}},
		{
			"plain and ignorable: none waits, and gangs are not whole",
			[]string{"--ignorable"},
			map[string]bool{"ordinary": false, "managed": false, "g-0": false},
		},
		{"managed: managed pods wait", []string{"--managed"}, map[string]bool{"ordinary": false, "managed": true, "g-0": true}},
		{
			"managed and ignorable: none waits, and gangs are not whole",
			[]string{"--managed", "--ignorable"},
			map[string]bool{"ordinary": false, "managed": false, "g-0": false},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lab.LongUnless(t, test.waits["managed"] != test.waits["ordinary"])
			c := newCluster(t, workload.NewNode("a", "16"))
			first := c.serve(muster.Options{})
			// A scheduler that does not know the resources finds no node that offers them.
			ask := asIs
			if slices.Contains(test.flags, "--managed") {
				ask = managed
			}
			c.Schedule(first.schedulerConfig(test.flags))
			incomplete := workload.NewMembers("g", 2, "1", standAlone(3), ask)
			c.createPods(append(incomplete, workload.NewPod("before", "1", ask), workload.NewPod("before-ordinary", "1"))...)
			c.Eventually("muster is asked", func() error {
				return errors.Join(c.isBound("before"), c.isBound("before-ordinary"))
			})
			if condition := c.awaitCondition("g-0"); condition.Reason != corev1.PodReasonUnschedulable {
				t.Errorf("a member of an incomplete gang waits for %q: %s", condition.Reason, condition.Message)
			}

			first.Must(first.Crash())
			c.createPods(workload.NewPod("managed", "1", ask), workload.NewPod("ordinary", "1"))
			c.wake("g-0") // nothing else would have the scheduler try the member now
			for name, waits := range test.waits {
				if waits {
					c.awaitOutage(name, first)
				} else {
					c.Eventually(name+" is bound without muster", func() error { return c.isBound(name) })
				}
			}

			c.Must(first.Restart(t.Context()))
			c.createPods(workload.NewPod("g-2", "1", ofNoObject("g", 3), ask))
			c.awaitBound(7)
		})
	}
}

func asIs(*corev1.Pod) {}

// standAlone makes pods members of a group without an object.
func standAlone(minMember int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { ofNoObject(pod.Labels[v1alpha1.LabelX], minMember)(pod) }
}

func ofNoObject(group string, minMember int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{v1alpha1.LabelMuster: group}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: fmt.Sprint(minMember)}
	}
}

// wake has the scheduler try a pod again.
func (c *cluster) wake(name string) {
	c.Helper()
	patch := []byte(`{"metadata": {"annotations": {"example.com/woken": "true"}}}`)
	_, err := c.Client.CoreV1().
		Pods(workload.Namespace).
		Patch(c.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	c.Must(err)
}

// awaitOutage waits until the scheduler has tried a pod and muster did not answer.
func (c *cluster) awaitOutage(name string, s *server) {
	c.Helper()
	c.Eventually(name+" waits for muster", func() error {
		pod := c.Pod(name)
		for _, condition := range pod.Status.Conditions {
			named := strings.Contains(condition.Message, s.URL()+"/muster/")
			if condition.Reason == corev1.PodReasonSchedulerError && named && pod.Spec.NodeName == "" {
				return nil
			}
		}
		return fmt.Errorf("it is on node %q, with conditions %v", pod.Spec.NodeName, pod.Status.Conditions)
	})
}

func TestThePolicyMakesMembersAndLabelledNamespacesManaged(t *testing.T) {
	c := newCluster(t)
	c.applyManagedPolicy(c.serve(muster.Options{Text: "profiles: [{schedulerName: default-scheduler}, {schedulerName: batch}]"}))
	member := func(change ...func(*corev1.Pod)) []func(*corev1.Pod) {
		return append([]func(*corev1.Pod){workload.InGang("g")}, change...)
	}
	tests := []struct {
		name     string
		labelled bool // the namespace
		change   []func(*corev1.Pod)
		want     bool
	}{
		{name: "a member of a PodGroup is managed", change: member(), want: true},
		{name: "a member of a group without an object is managed", change: member(ofNoObject("g", 3)), want: true},
		{name: "a member for another profile's scheduler is managed", change: member(workload.ScheduledBy("batch")), want: true},
		{name: "a member for another scheduler is not", change: member(workload.ScheduledBy(byHand))},
		{name: "a member that has a node is not", change: member(workload.On("a"))},
		{name: "a pod without a gang is not"},
		{name: "it is in a namespace that is labelled", labelled: true, want: true},
		{name: "a member whose container has a variable twice is managed", change: member(func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "a", Value: "1"}, {Name: "b"}, {Name: "a", Value: "2"}}
		}), want: true},
		{name: "a pod that asks for them already is left as it is", change: member(managed), want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &cluster{c.Of(t)}
			pod := workload.NewPod("trial", "1", test.change...)
			if test.labelled {
				pod.Namespace = c.namespace("managed", map[string]string{v1alpha1.LabelManaged: "true"})
			}
			want := pod.DeepCopy()
			if test.want {
				managed(want)
			}
			c.Eventually("the API server does as the policy says", func() error {
				made, err := c.wouldBe(pod)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(askedFor(want), askedFor(made)); diff != "" {
					return fmt.Errorf("resources and variables (-want +got):\n%s", diff)
				}
				return nil
			})
		})
	}
}

// askedFor returns the part of a pod that an admission policy may change, or break.
func askedFor(pod *corev1.Pod) []any {
	return []any{pod.Spec.Containers[0].Resources, pod.Spec.Containers[0].Env}
}

// applyManagedPolicy has the API server make pods managed, by what muster prints.
func (c *cluster) applyManagedPolicy(s *server) {
	c.Helper()
	printed, err := exec.CommandContext(c.Context(), lab.Program(c.T), "managed-policy", "--config="+s.Config()).Output()
	c.Must(err)
	kubectl, err := c.Kubectl(c.Context())
	c.Must(err)
	cmd := exec.CommandContext(c.Context(), kubectl, "--kubeconfig="+c.Kubeconfig(), "apply", "--server-side", "-f", "-")
	cmd.Stdin = bytes.NewReader(printed)
	if said, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("kubectl apply: %v: %s", err, said)
	}
}
