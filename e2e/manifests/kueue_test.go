package manifests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

const (
	kueuePage = "docs/beside/kueue.md"
	// replayed is how many jobs there are. The quota is four times the room, which is kueueNodes nodes of 4 CPUs.
	replayed, kueueNodes = 32, 4
	// moment is how long a pod of an admitted workload may be without a place before that counts: several rounds of kube-scheduler.
	moment = 15 * time.Second
	// seed draws the jobs.
	seed = 1
	// replayTime bounds a replay.
	replayTime = 15 * time.Minute
)

// The quota says that all jobs may run, and the room that most may not. Without the check Kueue admits them all.
func TestKueueAdmitsOnlyWhatHasAPlace(t *testing.T) {
	for name, checked := range map[string]bool{"with the check": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			lab.Long(t)
			r := newReplay(t, checked)
			r.run()
			if checked {
				t.Logf("figure kueue_admitted_but_pending=%d", r.stuck.Len())
				t.Logf("figure kueue_timeouts=%d", r.timeouts())
				if r.stuck.Len() > 0 || r.timeouts() > 0 {
					t.Errorf("admitted and without a place: %v; Kueue's timeouts: %d", sets.List(r.stuck), r.timeouts())
				}
				return
			}
			t.Logf("figure kueue_admitted_but_pending_unchecked=%d", r.stuck.Len())
			if r.stuck.Len() == 0 {
				t.Error("all jobs had a place when they were admitted: the replay shows nothing")
			}
		})
	}
}

// replay is jobs of several sizes in a queue whose quota is larger than the room.
type replay struct {
	*cluster
	// since is when a workload was first seen admitted with a pod that has no place, and stuck are workloads that stayed so for a moment.
	since map[string]time.Time
	stuck sets.Set[string]
}

func newReplay(t *testing.T, checked bool) *replay {
	t.Helper()
	c := newClusterWith(t, "serviceaccount-controller", "job-controller", "garbage-collector-controller")
	c.Discard()
	c.Must(c.StartKWOK(t.Context()))
	c.Must(c.StartOperator(t.Context(), controlplane.Kueue))
	served := c.served()
	for i := range kueueNodes {
		c.Create(workload.NewNode(fmt.Sprintf("node-%d", i), "4"))
	}
	c.serve("muster")
	for _, kind := range []string{"ResourceFlavor", "AdmissionCheck", "ClusterQueue", "LocalQueue"} {
		name := map[string]string{"ResourceFlavor": "any", "AdmissionCheck": "placeable"}[kind]
		if name == "" {
			name = "research"
		}
		object := c.object(kueuePage, kind, name)
		if kind == "ClusterQueue" && !checked {
			unstructured.RemoveNestedField(object.Object, "spec", "admissionChecksStrategy")
		}
		c.Must(c.create(served, object))
	}
	r := &replay{cluster: c, since: map[string]time.Time{}, stuck: sets.New[string]()}
	r.Eventually("the queue admits workloads", func() error {
		queue, err := r.Dynamic.Resource(ofKueue("clusterqueues")).Get(r.Context(), "research", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if conditions := conditionsOf(queue); !meta.IsStatusConditionTrue(conditions, "Active") {
			return fmt.Errorf("its conditions are %v", conditions)
		}
		return nil
	})
	return r
}

func ofKueue(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: resource}
}

// run creates the jobs, and returns when all are done.
func (r *replay) run() {
	r.Helper()
	draw := rand.New(rand.NewPCG(seed, 0))
	for i := range replayed {
		r.create(i, draw)
	}
	done := 0
	err := wait.PollUntilContextTimeout(r.Context(), time.Second, replayTime, true, func(ctx context.Context) (bool, error) {
		done = r.look(ctx)
		return done == replayed, nil
	})
	if err != nil {
		r.Fatalf("%d of %d jobs are done: %v", done, replayed, err)
	}
}

// create creates a job: half of them start whole. Pods of 3 CPUs leave room that adds up to more than any node has.
func (r *replay) create(i int, draw *rand.Rand) {
	r.Helper()
	pods, cpu := 1+draw.Int32N(4), 1+draw.IntN(3)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("job-%02d", i), Namespace: metav1.NamespaceDefault, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "research"},
	}, Spec: batchv1.JobSpec{
		Suspend: new(true), Parallelism: &pods, Completions: &pods, CompletionMode: new(batchv1.IndexedCompletion),
		Template: corev1.PodTemplateSpec{Spec: workload.PodSpec(fmt.Sprint(cpu))},
	}}
	if draw.IntN(2) == 0 {
		job.Annotations = map[string]string{"muster.dev/gang-scope": "all"}
	}
	job.Spec.Template.Annotations = map[string]string{controlplane.RunsForAnnotation: fmt.Sprintf("%ds", 5+draw.IntN(15))}
	job.Spec.Template.Spec.SchedulerName, job.Spec.Template.Spec.RestartPolicy = "muster", corev1.RestartPolicyNever
	job.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
	_, err := r.Client.BatchV1().Jobs(job.Namespace).Create(r.Context(), job, metav1.CreateOptions{})
	r.Must(err)
}

// look notes which admitted workloads have a pod without a place, and returns how many are done.
func (r *replay) look(ctx context.Context) (done int) {
	r.Helper()
	pods, err := r.Client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	r.Must(err)
	waiting := sets.New[types.UID]() // Jobs
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		for _, c := range pod.Status.Conditions {
			if owner != nil && pod.Spec.NodeName == "" && c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				waiting.Insert(owner.UID)
			}
		}
	}
	now := time.Now()
	for _, w := range r.workloads(ctx) {
		conditions := conditionsOf(&w)
		if meta.IsStatusConditionTrue(conditions, "Finished") {
			done++
			continue
		}
		owners := w.GetOwnerReferences()
		if !meta.IsStatusConditionTrue(conditions, "Admitted") || len(owners) != 1 || !waiting.Has(owners[0].UID) {
			delete(r.since, w.GetName())
			continue
		}
		if since, known := r.since[w.GetName()]; !known {
			r.since[w.GetName()] = now
		} else if now.Sub(since) > moment {
			r.stuck.Insert(w.GetName())
		}
	}
	return done
}

func (r *replay) workloads(ctx context.Context) []unstructured.Unstructured {
	r.Helper()
	list, err := r.Dynamic.Resource(ofKueue("workloads")).Namespace(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	r.Must(err)
	return list.Items
}

// timeouts returns for how many reasons Kueue has evicted workloads, by its own count.
func (r *replay) timeouts() (count int) {
	r.Helper()
	for _, w := range r.workloads(r.Context()) {
		evictions, _, _ := unstructured.NestedSlice(w.Object, "status", "schedulingStats", "evictions")
		count += len(evictions)
	}
	return count
}

func conditionsOf(object *unstructured.Unstructured) []metav1.Condition {
	var fields struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &fields) != nil {
		return nil
	}
	return fields.Status.Conditions
}
