package extender_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// created are the gates that a pod has which the API server would create.
func (c *cluster) created(pod *corev1.Pod) (gates []string) {
	c.Helper()
	made, err := c.wouldBe(pod)
	c.Must(err)
	for _, gate := range made.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	return gates
}

// gateTest is a case of the webhook's unit tests.
type gateTest struct {
	Name    string
	OptedIn bool // the pod's namespace
	Pod     json.RawMessage
	Gates   []string
}

// wantGates creates the pods of a file of the webhook's unit tests, pods of an OptedIn namespace in one of that name.
func (c *cluster) wantGates(file, optedIn string) {
	c.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "server", "testdata", file))
	c.Must(err)
	var tests []gateTest
	if err := yaml.UnmarshalStrict(text, &tests); err != nil || len(tests) == 0 {
		c.Fatalf("%d tests, error %v", len(tests), err)
	}
	for _, test := range tests {
		c.Run(test.Name, func(t *testing.T) {
			c := &cluster{c.Of(t)}
			pod := workload.NewPod("trial", "1")
			c.Must(json.Unmarshal(test.Pod, pod))
			if test.OptedIn {
				pod.Namespace = optedIn
			}
			if diff := gocmp.Diff(test.Gates, c.created(pod)); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

// applyGatePolicy has the API server gate the members of a muster's gangs by itself until the
// test ends.
func (c *cluster) applyGatePolicy(s *server) {
	c.Helper()
	c.Must(muster.CreateGatePolicy(c.Context(), c.Client, lab.Program(c.T), s.Config()))
}

func TestThePolicyGatesWhomTheWebhookGates(t *testing.T) {
	c := newCluster(t)
	c.serve(muster.Options{Gates: muster.UntilMembers})
	c.wantGates("gates.yaml", "")
}

func TestWhoIsPlacedAheadIsGatedByThePolicyAndByTheWebhook(t *testing.T) {
	t.Parallel()
	for _, by := range []muster.Gatekeeper{muster.Policy, muster.Webhook} {
		t.Run(string(by), func(t *testing.T) {
			c := newCluster(t)
			c.serve(muster.Options{
				Selection: muster.Muster, Gates: muster.UntilPlace, GatedBy: by,
				Beside: map[string]muster.Selection{"batch": muster.Scheduler},
			})
			c.wantGates("ahead.yaml", c.namespace("ahead", map[string]string{v1alpha1.LabelAhead: "true"}))
			// The other profile gates nobody.
			for name, change := range map[string]func(*corev1.Pod){
				"a member": workload.InGang("g"), "a pod that is opted in": workload.Labelled(v1alpha1.LabelAhead, "true"),
			} {
				if got := c.created(workload.NewPod("trial", "1", change, workload.ScheduledBy("batch"))); len(got) > 0 {
					t.Errorf("%s of a profile without gates has the gates %v", name, got)
				}
			}
		})
	}
}

// namespace creates one and returns its name.
func (c *cluster) namespace(name string, labels map[string]string) string {
	c.Helper()
	c.Create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: name}}, // that its pods are of
	)
	return name
}

func TestThePolicyIsForTheSchedulersOfProfilesThatGate(t *testing.T) {
	c := newCluster(t)
	c.applyGatePolicy(c.serve(muster.Options{Text: `
profiles:
- {schedulerName: default-scheduler, gates: UntilMembers}
- {schedulerName: batch, gates: UntilMembers}
- {schedulerName: never}
`}))
	for name, want := range map[string]bool{corev1.DefaultSchedulerName: true, "batch": true, "never": false, byHand: false} {
		pod := workload.NewPod("trial", "1", workload.InGang("g"), workload.ScheduledBy(name))
		if got := c.created(pod); (len(got) > 0) != want {
			t.Errorf("gates of a pod for the scheduler %s: %v", name, got)
		}
	}
}

// An update of lists that are maps must not stumble over a key that is there twice, which the
// API allows here.
func TestAMemberIsGatedWhoseContainerHasAVariableTwice(t *testing.T) {
	c := newCluster(t)
	c.serve(muster.Options{Gates: muster.UntilMembers})
	made, err := c.wouldBe(workload.NewPod("g-0", "1", workload.InGang("g"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "a", Value: "1"}, {Name: "b"}, {Name: "a", Value: "2"}}
	}))
	c.Must(err)
	want := []corev1.EnvVar{{Name: "a", Value: "1"}, {Name: "b"}, {Name: "a", Value: "2"}}
	if diff := gocmp.Diff(want, made.Spec.Containers[0].Env); diff != "" || !muster.Gated(made) {
		t.Errorf("gates %v, variables (-want +got):\n%s", made.Spec.SchedulingGates, diff)
	}
}
