package chart

import (
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
)

// TestAGangOfAJobStartsWholeBesideASchedulerThatDoesNotKnowOfMuster does what the notes of mode ahead say, on a stock
// control plane whose kube-scheduler has its defaults.
func TestAGangOfAJobStartsWholeBesideASchedulerThatDoesNotKnowOfMuster(t *testing.T) {
	lab.Long(t)
	c := newCluster(t, "job-controller")
	c.Must(c.StartKWOK(t.Context()))
	c.Schedule("")
	c.install("--values", way("ahead"))
	newKubelet(c).runs("muster")
	c.optIn()
	for i := range 4 {
		c.createNode(fmt.Sprintf("ahead-%d", i), "ahead", "4")
	}

	// A pod of the namespace that is opted in. It takes a node that the gang needs.
	single := aheadPod("single", "app", "web")
	single.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
	c.Eventually("a pod of the namespace would be gated", func() error {
		made, err := c.wouldBe(single)
		if err == nil && made.Gates == "" {
			err = errors.New("it is not")
		}
		return err
	})
	c.Create(single)
	c.awaitBound("single")

	c.createPodGroup(v1alpha1.GroupX, "training", 4)
	template := aheadPod("", v1alpha1.LabelX, "training")
	template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "training"},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(4)), Completions: new(int32(4)),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
		},
	}, metav1.CreateOptions{})
	c.Must(err)
	members := func() (gated, bound int) {
		list, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelX + "=training"})
		c.Must(err)
		for i := range list.Items {
			if len(list.Items[i].Spec.SchedulingGates) > 0 {
				gated++
			}
			if list.Items[i].Spec.NodeName != "" {
				bound++
			}
		}
		return gated, bound
	}
	c.Eventually("four members wait, and three of them would have room", func() error {
		gated, bound := members()
		if bound > 0 {
			t.Fatalf("%d members are bound, and there is no room for all", bound)
		}
		if gated < 4 {
			return fmt.Errorf("%d are gated", gated)
		}
		return c.denied("training")
	})
	c.Must(c.Client.CoreV1().Pods("default").Delete(t.Context(), "single", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	c.Eventually("all members are bound", func() error {
		gated, bound := members()
		if bound < 4 {
			return fmt.Errorf("%d are gated, %d are bound", gated, bound)
		}
		return nil
	})
	if forbidden, _ := judge(c.audit.requestsOf(t, "muster"), rightsOf(t, render(t, "--values", way("ahead")), "muster")); len(forbidden) > 0 {
		t.Errorf("muster was forbidden to %v", forbidden)
	}
}

// denied is content once a PodGroup says why it waits.
func (c *cluster) denied(group string) error {
	object, err := c.Dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace("default").Get(c.Context(), group, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, there := object.Object["status"]; !there {
		return fmt.Errorf("its status says nothing")
	}
	return nil
}
