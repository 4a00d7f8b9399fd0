package chart

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
)

// customResourceDefinitions of all products.
func customResourceDefinitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// customResources that the chart defines, and defined in its previous version.
func customResources() []schema.GroupVersionResource {
	return append(v1alpha1.Resources(), slov1alpha1.NodeMetrics(), reschedulingv1alpha1.ReschedulingPlans())
}

func (c *cluster) versions(resource schema.GroupVersionResource) versions {
	c.Helper()
	list, err := c.Dynamic.Resource(resource).List(c.Context(), metav1.ListOptions{})
	c.Must(err)
	all := versions{}
	for i := range list.Items {
		all[resource.GroupResource().String()+"/"+list.Items[i].GetName()] = fmt.Sprintf(
			"%s in generation %d", list.Items[i].GetUID(), list.Items[i].GetGeneration(),
		)
	}
	return all
}

// createPodGroup creates a PodGroup of one of the two API groups.
func (c *cluster) createPodGroup(group, name string, minMember int64) {
	c.Helper()
	c.createCustom(v1alpha1.ResourceOf(group), "default", map[string]any{
		"apiVersion": group + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"minMember": minMember},
	})
}

// createCustom creates an object as soon as its definition is served.
func (c *cluster) createCustom(resource schema.GroupVersionResource, namespace string, object map[string]any) {
	c.Helper()
	c.Eventually("an object of "+resource.GroupResource().String()+" is created", func() error {
		_, err := c.Dynamic.Resource(resource).
			Namespace(namespace).
			Create(c.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		return err
	})
}

// createQuestion asks about a gang.
func (c *cluster) createQuestion() {
	c.Helper()
	question, err := explanationv1alpha1.Encode(&explanationv1alpha1.Question{
		ObjectMeta: metav1.ObjectMeta{Name: "why"}, Spec: explanationv1alpha1.About(explanationv1alpha1.Gang, "g"),
	})
	c.Must(err)
	c.createCustom(explanationv1alpha1.Questions(), "default", question.Object)
}

// createCustomResources creates one object of each of the chart's definitions that the previous version has, too.
func (c *cluster) createCustomResources() {
	c.Helper()
	for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		c.createPodGroup(group, "g", 3)
	}
	c.createCustom(slov1alpha1.NodeMetrics(), "", map[string]any{
		"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": "a"},
	})
	plan, err := reschedulingv1alpha1.Encode(&reschedulingv1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: reschedulingv1alpha1.ReschedulingPlanSpec{
			Policy: reschedulingv1alpha1.Coalesce, Mode: reschedulingv1alpha1.DryRun, Expires: metav1.NewTime(time.Now().Add(time.Hour)),
			Steps: []reschedulingv1alpha1.Step{{
				Pod: reschedulingv1alpha1.PodReference{Namespace: "default", Name: "a", UID: "a"}, From: "a", To: "b",
				Controller:  reschedulingv1alpha1.Controller{Kind: "ReplicaSet", Name: "a", UID: "b"},
				Replacement: corev1.PodTemplateSpec{Spec: newPod("", "", "1").Spec},
			}},
		},
	})
	c.Must(err)
	c.createCustom(reschedulingv1alpha1.ReschedulingPlans(), "", plan.Object)
}
