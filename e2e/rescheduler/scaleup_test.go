package rescheduler

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
	"muster.dev/muster/rescheduler/scaleup"
)

func TestNodesAreAskedForOnlyWhenMovingPodsDoesNotHelp(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	l.configure(map[string]any{"scaleUp": map[string]any{"provisioningRequest": map[string]any{"className": scaleUpClass}}})
	l.createPod("big", "4")  // fits once small has moved
	l.createPod("huge", "8") // fits nowhere
	l.reschedule()
	l.awaitPlan(v1alpha1.Pending, "")
	l.Eventually("huge says that it needs nodes", func() error { return l.needs("huge", scaleup.ReasonNoNodeFits) })
	l.Eventually("an event about huge", func() error { return l.told(l.Pod("huge").UID, "RearrangingDoesNotHelp") })
	l.Must(l.needs("big", ""))

	// The cluster has no autoscaler, which is said once. Then it gets one.
	l.Eventually("the log says that nobody can be asked", func() error {
		log, err := os.ReadFile(l.rescheduler.Log())
		if count := strings.Count(string(log), "the cluster does not know ProvisioningRequests"); err == nil && count != 1 {
			return fmt.Errorf("it says so %d times", count)
		}
		return err
	})
	l.defineProvisioningRequests()
	l.Eventually("nodes are asked for", func() error { return l.asked("muster-" + string(l.Pod("huge").UID)) })
	l.crash()
	l.Must(l.rescheduler.Restart(t.Context()))

	l.Create(workload.NewNode("n3", "12")) // for both
	l.Eventually("huge runs", func() error { return l.isOn(l.Pod("huge"), "n3") })
	l.Eventually("huge says nothing any more", func() error { return l.needs("huge", "") })
	l.Eventually("nodes are asked for no more", func() error { return l.asked() })
	templates, err := l.Client.CoreV1().PodTemplates(namespace).List(t.Context(), metav1.ListOptions{})
	l.Must(err)
	if len(templates.Items) > 0 {
		t.Errorf("%d PodTemplates are left", len(templates.Items))
	}
}

// needs says whether the condition of a pod gives a reason, "" for no condition.
func (l *cluster) needs(pod, reason string) error {
	conditions := l.Pod(pod).Status.Conditions
	at := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == scaleup.ConditionRearrangingHelps })
	switch {
	case at < 0 && reason == "":
		return nil
	case at < 0:
		return errors.New("it has no condition")
	case conditions[at].Reason != reason || conditions[at].Status != corev1.ConditionFalse:
		return fmt.Errorf("its condition is %+v", conditions[at])
	default:
		return nil
	}
}

// asked says whether there are the ProvisioningRequests of these names and no others.
func (l *cluster) asked(names ...string) error {
	list, err := l.Dynamic.Resource(scaleup.ProvisioningRequests()).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	var got []string
	for i := range list.Items {
		got = append(got, list.Items[i].GetName())
	}
	if !slices.Equal(got, names) {
		return fmt.Errorf("there are %q", got)
	}
	return nil
}

// defineProvisioningRequests defines them as far as the API server has to know them.
func (l *cluster) defineProvisioningRequests() {
	l.Helper()
	resource := scaleup.ProvisioningRequests()
	l.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        resource.GroupResource().String(),
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"},
		},
		"spec": map[string]any{
			"group": resource.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": "ProvisioningRequest", "plural": resource.Resource},
			"versions": []any{map[string]any{
				"name": resource.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}})
}
