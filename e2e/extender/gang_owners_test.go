package extender_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// Nothing of the JobSet is muster's, and there is no PodGroup.
func TestKubectlDescribeSaysOfAJobSetWhyItWaits(t *testing.T) {
	lab.Long(t)
	resource := schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
	o, w := newOperator(t, resource, "JobSet", muster.Options{})
	kubectl, err := o.Kubectl(t.Context())
	o.Must(err)
	described := func(words string) {
		t.Helper()
		o.Eventually("kubectl describe says "+words, func() error {
			args := []string{"--kubeconfig=" + o.Kubeconfig(), "--namespace=" + workload.Namespace, "describe", "jobset", "train"}
			text, err := exec.CommandContext(t.Context(), kubectl, args...).CombinedOutput()
			if _, events, _ := strings.Cut(string(text), "Events:"); err != nil || !strings.Contains(events, words) {
				return fmt.Errorf("it says %s, error %w", text, err)
			}
			return nil
		})
	}
	o.createNodes(workload.NewNodes("node", 6, "4")...)
	pods := jobSet(o)
	described("Unschedulable")
	w.settles(exactly(map[string]int{}))
	o.Eventually("no pod says that members are missing", func() error {
		for name, pod := range o.Pods() {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && strings.Contains(c.Message, "members are missing") {
					return fmt.Errorf("%s: %s", name, c.Message)
				}
			}
		}
		return nil
	})
	o.createNodes(workload.NewNode("added", "4"))
	w.settles(exactly(map[string]int{"": pods}))
}
