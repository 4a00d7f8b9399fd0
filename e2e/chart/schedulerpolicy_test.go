package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// admitted is a pod after admission: its scheduler, its gates, and whether it is managed.
type admitted struct {
	Scheduler, Gates string
	Managed          bool
}

// wouldBe has the API server say what it would make of a pod.
func (c *cluster) wouldBe(pod *corev1.Pod) (admitted, error) {
	made, err := c.Client.CoreV1().Pods(pod.Namespace).Create(c.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return admitted{}, err
	}
	var gates []string
	for _, gate := range made.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	_, managed := made.Spec.Containers[0].Resources.Requests[v1alpha1.ResourceManaged]
	return admitted{made.Spec.SchedulerName, strings.Join(gates, ","), managed}, nil
}

func TestPodsOfALabelledNamespaceGoToItsSchedulerWithAllThatIsDoneToItsPods(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.install("--values", way("gates"), "--set=schedulerPolicy=true")
	c.createNamespace("labelled", map[string]string{v1alpha1.LabelScheduler: "batch"})
	c.createNamespace("misspelt", map[string]string{v1alpha1.LabelScheduler: "bacht"})
	c.createNamespace("plain", nil)
	pod := func(namespace string, change func(*corev1.Pod)) *corev1.Pod {
		return newPod("a", "app", "1", workload.In(namespace), workload.ScheduledBy(""), change)
	}
	unchanged := func(*corev1.Pod) {}
	c.Eventually("the policy is in force", func() error {
		got, err := c.wouldBe(pod("labelled", unchanged))
		if err == nil && got.Scheduler != "batch" {
			err = fmt.Errorf("the scheduler is %s", got.Scheduler)
		}
		return err
	})
	const byDefault = corev1.DefaultSchedulerName
	for _, test := range []struct {
		name, namespace string
		change          func(*corev1.Pod)
		want            admitted
	}{
		{"a pod", "labelled", unchanged, admitted{Scheduler: "batch"}},
		{"one of a namespace without the label", "plain", unchanged, admitted{Scheduler: byDefault}},
		{"one of a namespace with a name that no profile has", "misspelt", unchanged, admitted{Scheduler: byDefault}},
		{"one that names another scheduler", "labelled", workload.ScheduledBy("mine"), admitted{Scheduler: "mine"}},
		{
			"a member of a gang", "labelled", workload.Labelled(v1alpha1.LabelX, "g"),
			admitted{Scheduler: "batch", Gates: v1alpha1.SchedulingGate, Managed: true},
		},
		{
			"one of a DaemonSet", "labelled",
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
			},
			admitted{Scheduler: byDefault},
		},
		{"one of the system", "labelled", workload.OfPriority("system-cluster-critical"), admitted{Scheduler: byDefault}},
		{"muster's own", "labelled", workload.Labelled("app.kubernetes.io/name", "muster"), admitted{Scheduler: byDefault}},
		{"one that has a node", "labelled", workload.On("n"), admitted{Scheduler: byDefault}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := c.wouldBe(pod(test.namespace, test.change))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheChartsOwnPodsAreNotGivenToASchedulerThatAsksMuster(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sidecar-full", "external"} {
		for object, o := range render(t, "--values", way(name), "--set=rescheduler.enabled=true") {
			if o.GetKind() != "Deployment" {
				continue
			}
			labels, _, err := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
			if err != nil {
				t.Fatal(err)
			}
			if got := labels["app.kubernetes.io/name"]; got != "muster" && got != "muster-rescheduler" {
				t.Errorf("%s of %s: pods have the name %q, which the policy does not know", object, name, got)
			}
		}
	}
}
