package extender_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// withController takes a cluster with the real controller of somebody else's kind, and the ones of Kubernetes that it needs.
func withController(t *testing.T, o controlplane.Operator, controllers ...string) (*cluster, *witness) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles a controller of others: make test-long runs this")
	}
	if release, err := binaries.Chosen(); err != nil || release == binaries.Release136 {
		t.Skipf("SKIP: once is enough, with the newest Kubernetes (%v)", err)
	}
	c := newClusterWith(t, append(controllers, "garbage-collector-controller"))
	c.Discard() // of its custom resource
	c.Must(c.StartKWOK(t.Context()))
	c.Must(c.StartOperator(t.Context(), o))
	return c, c.serveAndSchedule(muster.Options{}).watch()
}

// template is a template of pods that ask for three cores. Nothing in it is muster's.
func template(t *testing.T) map[string]any {
	t.Helper()
	pod := workload.NewPod("", "3")
	pod.Spec.RestartPolicy = ""
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": spec}
}

// The controller of JobSets makes the Jobs, and that of Jobs their pods: seven, of which a driver is one. When one of them fails
// for good, all Jobs are made again, and start whole again.
func TestAJobSetOfItsOwnControllerStartsWhole(t *testing.T) {
	c, w := withController(t, controlplane.JobSet, "job-controller")
	c.createNodes(workload.NewNodes("node", 6, "4")...)
	replicated := func(name string, replicas, pods int64) map[string]any {
		of := template(t)
		of["spec"].(map[string]any)["restartPolicy"] = "Never"
		return map[string]any{"name": name, "replicas": replicas, "template": map[string]any{"spec": map[string]any{
			"parallelism": pods, "completions": pods, "backoffLimit": int64(0), "template": of,
		}}}
	}
	c.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": map[string]any{"name": "train"},
		"spec": map[string]any{
			"failurePolicy":  map[string]any{"maxRestarts": int64(1)},
			"replicatedJobs": []any{replicated("driver", 1, 1), replicated("workers", 2, 3)},
		},
	}})
	c.Eventually("all pods are made", func() error { return c.count(7, "") })
	w.settles(exactly(map[string]int{}))
	c.createNodes(workload.NewNode("last", "4"))
	c.Eventually("all pods run", func() error { return c.count(7, corev1.PodRunning) })

	for name, pod := range c.Pods() {
		if pod.Labels["jobset.sigs.k8s.io/job-index"] == "1" {
			c.fail(pod)
			c.Eventually("the pods are made again, and run", func() error {
				if _, still := c.Pods()[name]; still {
					return fmt.Errorf("%s, which has failed, is there", name)
				}
				return c.count(7, corev1.PodRunning)
			})
			break
		}
	}
	jobs, err := c.Client.BatchV1().Jobs(workload.Namespace).List(t.Context(), metav1.ListOptions{})
	c.Must(err)
	for _, job := range jobs.Items {
		if restarts := job.Labels["jobset.sigs.k8s.io/restart-attempt"]; restarts != "1" || job.Spec.CompletionMode == nil ||
			*job.Spec.CompletionMode != batchv1.IndexedCompletion {
			t.Errorf("Job %s is of attempt %s and mode %v: its controller and its webhook make it of attempt 1 and indexed", job.Name, restarts, job.Spec.CompletionMode)
		}
	}
}

// The controller of LeaderWorkerSets makes the leaders, and those their workers: each replica starts for itself.
func TestEachReplicaOfALeaderWorkerSetOfItsOwnControllerStartsWhole(t *testing.T) {
	c, w := withController(t, controlplane.LeaderWorkerSet, "statefulset-controller")
	c.createNodes(workload.NewNodes("node", 5, "4")...)
	c.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{"name": "vllm"},
		"spec": map[string]any{
			"replicas": int64(2), "startupPolicy": "LeaderCreated",
			"leaderWorkerTemplate": map[string]any{"size": int64(3), "workerTemplate": template(t)},
		},
	}})
	c.Eventually("all pods are made", func() error { return c.count(6, "") })
	w.settles(exactly(map[string]int{"": 3}))
	c.createNodes(workload.NewNode("last", "4"))
	c.Eventually("all pods run", func() error { return c.count(6, corev1.PodRunning) })
}

// count is nil if there are so many pods, all in a phase unless that is "".
func (c *cluster) count(pods int, phase corev1.PodPhase) error {
	all := c.Pods()
	for name, pod := range all {
		if phase != "" && pod.Status.Phase != phase {
			return fmt.Errorf("%s is %s", name, pod.Status.Phase)
		}
	}
	if len(all) != pods {
		return fmt.Errorf("there are %d pods, want %d", len(all), pods)
	}
	return nil
}

// fail has a pod end as failed.
func (c *cluster) fail(pod *corev1.Pod) {
	c.Helper()
	pod.Status.Phase = corev1.PodFailed
	_, err := c.Client.CoreV1().Pods(workload.Namespace).UpdateStatus(c.Context(), pod, metav1.UpdateOptions{})
	c.Must(err)
}
