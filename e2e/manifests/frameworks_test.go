package manifests

import (
	"fmt"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// The pods of JobSets and LeaderWorkerSets are made by their own controllers. For other frameworks the tests make of the
// documentation's manifest what a controller would, up to the Jobs, StatefulSets or pods; the rest is Kubernetes' own.
// Nothing of a gang may be bound before it is whole.

func TestTheJobSetOfTheDocumentationStartsWhole(t *testing.T) {
	c, selector := withOperator(t, controlplane.JobSet, "jobset.sigs.k8s.io/jobset-name=train")
	jobSet := c.object("docs/beside/jobset.md", "JobSet", "train")
	pods := 0
	for _, replicated := range field[[]struct {
		Replicas int                     `json:"replicas"`
		Template batchv1.JobTemplateSpec `json:"template"`
	}](c, jobSet, "spec", "replicatedJobs") {
		pods += replicated.Replicas * int(*replicated.Template.Spec.Parallelism)
	}
	c.Create(workload.NewNode("a", "7")) // room for all but one
	c.Must(c.create(c.served(), jobSet))
	c.awaitTried(selector, pods)
	c.Create(workload.NewNode("b", "4"))
	c.awaitRunning(selector, pods)

	// JobSet makes all Jobs again when one has failed.
	failed := c.pods(selector)[0]
	failed.Status.Phase = corev1.PodFailed
	_, err := c.Client.CoreV1().Pods(failed.Namespace).UpdateStatus(t.Context(), &failed, metav1.UpdateOptions{})
	c.Must(err)
	c.awaitRunning(selector+",jobset.sigs.k8s.io/restart-attempt=1", pods)
}

// withOperator takes a cluster with the controller of a framework, and muster, whose pods have labels by a selector.
func withOperator(t *testing.T, o controlplane.Operator, selector string) (*cluster, string) {
	t.Helper()
	lab.Long(t)
	c := newClusterWith(t, "serviceaccount-controller", "job-controller", "statefulset-controller", "garbage-collector-controller")
	c.define()
	c.Must(c.StartKWOK(t.Context()))
	c.Must(c.StartOperator(t.Context(), o))
	c.serve("muster")
	return c, selector
}

func TestEachReplicaOfTheLeaderWorkerSetOfTheDocumentationStartsWhole(t *testing.T) {
	c, selector := withOperator(t, controlplane.LeaderWorkerSet, "leaderworkerset.sigs.k8s.io/name=serve")
	set := c.object("docs/beside/leaderworkerset.md", "LeaderWorkerSet", "serve")
	replicas := int(field[int32](c, set, "spec", "replicas"))
	size := int(field[int32](c, set, "spec", "leaderWorkerTemplate", "size"))
	template := field[corev1.PodTemplateSpec](c, set, "spec", "leaderWorkerTemplate", "workerTemplate")
	cpu := template.Spec.Containers[0].Resources.Requests.Cpu()
	c.Create(workload.NewNode("a", strconv.Itoa(size*int(cpu.Value())+1))) // room for one replica, and not for a second one
	c.Must(c.create(c.served(), set))
	c.awaitBound(selector, size)
	c.Eventually("the others are made, and wait", func() error {
		bound := map[string]int{}
		all := c.pods(selector)
		for _, pod := range all {
			if pod.Spec.NodeName != "" {
				bound[pod.Labels["leaderworkerset.sigs.k8s.io/group-index"]]++
			}
		}
		if len(all) != replicas*size || len(bound) != 1 {
			return fmt.Errorf("%d pods, bound of each replica: %v", len(all), bound)
		}
		return nil
	})
	c.Create(workload.NewNode("b", "16"))
	c.awaitRunning(selector, replicas*size)
}

func TestTheRayClusterOfTheDocumentationStartsWhole(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	ray := c.object("docs/beside/kuberay.md", "RayCluster", "sweep")
	if _, enabled := ray.GetLabels()["ray.io/gang-scheduling-enabled"]; !enabled {
		t.Fatal("KubeRay makes no PodGroup of it")
	}
	type workerGroup struct {
		GroupName string                 `json:"groupName"`
		Replicas  int                    `json:"replicas"`
		Template  corev1.PodTemplateSpec `json:"template"`
	}
	head := field[corev1.PodTemplateSpec](c, ray, "spec", "headGroupSpec", "template")
	groups := field[[]workerGroup](c, ray, "spec", "workerGroupSpecs")
	pods := 1
	for _, group := range groups {
		pods += group.Replicas
	}
	const scheduler = "scheduler-plugins-scheduler" // the name that KubeRay writes
	c.Create(workload.NewNode("a", "16"))
	c.serve("muster", scheduler)

	c.Must(c.create(c.served(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind, "metadata": map[string]any{"name": ray.GetName()},
		"spec": map[string]any{"minMember": int64(pods), "minResources": map[string]any{"cpu": "5", "memory": "10Gi"}},
	}}))
	create := func(name string, template corev1.PodTemplateSpec) {
		t.Helper()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: ray.GetName() + "-" + name, Labels: map[string]string{
				"ray.io/cluster": ray.GetName(), v1alpha1.LabelX: ray.GetName(),
			}},
			Spec: template.Spec,
		}
		pod.Spec.SchedulerName = scheduler
		_, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{})
		c.Must(err)
	}
	selector := "ray.io/cluster=" + ray.GetName()
	for _, group := range groups {
		for i := range group.Replicas {
			create(fmt.Sprintf("%s-worker-%d", group.GroupName, i), group.Template)
		}
	}
	c.awaitTried(selector, pods-1)
	create("head", head)
	c.awaitBound(selector, pods)
}
