package extender_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// operator plays the controller of a custom resource: it makes what that would make.
type operator struct {
	*cluster
	resource schema.GroupVersionResource
	kind     string
}

// makes creates an object of the resource, and returns who owns what is made for it.
func (o *operator) makes(name string, spec map[string]any) metav1.OwnerReference {
	o.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}}
	object.SetGroupVersionKind(o.resource.GroupVersion().WithKind(o.kind))
	var made *unstructured.Unstructured
	o.Eventually("the API server serves it", func() (err error) {
		made, err = o.Dynamic.Resource(o.resource).Namespace(workload.Namespace).Create(o.Context(), object, metav1.CreateOptions{})
		return err
	})
	return owner(object.GetAPIVersion(), o.kind, made)
}

func owner(apiVersion, kind string, object metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: object.GetName(), UID: object.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// owned is a pod with some labels that asks for three cores. Nothing on it is muster's.
func owned(name string, by metav1.OwnerReference, labels map[string]string) *corev1.Pod {
	return workload.NewPod(name, "3", func(pod *corev1.Pod) {
		pod.OwnerReferences, pod.Labels = []metav1.OwnerReference{by}, labels
	})
}

// jobSet makes a JobSet of a driver and two Jobs of three workers, and its Jobs. Their pods are made by the real controller of
// Jobs.
func jobSet(o *operator) (pods int) {
	replicated := func(name string, replicas, parallelism int64) map[string]any {
		return map[string]any{
			"name": name, "replicas": replicas,
			"template": map[string]any{"spec": map[string]any{"parallelism": parallelism, "completions": parallelism}},
		}
	}
	set := o.makes("train", map[string]any{"replicatedJobs": []any{replicated("driver", 1, 1), replicated("workers", 2, 3)}})
	job := func(role string, index int, parallelism int32) {
		labels := map[string]string{
			"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": role,
			"jobset.sigs.k8s.io/job-index": fmt.Sprint(index), "jobset.sigs.k8s.io/restart-attempt": "0",
		}
		template := owned("", set, labels)
		template.OwnerReferences = nil
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		o.Create(&batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("train-%s-%d", role, index), Labels: labels, OwnerReferences: []metav1.OwnerReference{set},
			},
			Spec: batchv1.JobSpec{
				Parallelism: &parallelism, Completions: &parallelism, CompletionMode: new(batchv1.IndexedCompletion),
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
			},
		})
	}
	job("driver", 0, 1)
	job("workers", 0, 3)
	job("workers", 1, 3)
	return 7
}

// leaderWorkerSet makes one replica of a leader and three workers. The workers' StatefulSet is the leader's.
func leaderWorkerSet(o *operator) (pods int) {
	set := o.makes("vllm", map[string]any{
		"replicas": int64(1), "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": map[string]any{"size": int64(4)},
	})
	labels := func(worker int) map[string]string {
		return map[string]string{
			"leaderworkerset.sigs.k8s.io/name": "vllm", "leaderworkerset.sigs.k8s.io/group-index": "0",
			"leaderworkerset.sigs.k8s.io/group-key": "key", "leaderworkerset.sigs.k8s.io/worker-index": fmt.Sprint(worker),
		}
	}
	statefulSet := func(name string, by metav1.OwnerReference, worker int) metav1.OwnerReference {
		o.Create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet",
			"metadata": map[string]any{"name": name, "ownerReferences": []any{map[string]any{
				"apiVersion": by.APIVersion, "kind": by.Kind, "name": by.Name, "uid": string(by.UID), "controller": true,
			}}},
			"spec": map[string]any{
				"replicas": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"of": name}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"of": name}},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
				},
			},
		}})
		made, err := o.Client.AppsV1().StatefulSets(workload.Namespace).Get(o.Context(), name, metav1.GetOptions{})
		o.Must(err)
		return owner("apps/v1", "StatefulSet", made)
	}
	o.createPods(owned("vllm-0", statefulSet("vllm", set, 0), labels(0)))
	workers := statefulSet("vllm-0", owner("v1", "Pod", o.Pod("vllm-0")), 1)
	for i := range 3 {
		o.createPods(owned(fmt.Sprintf("vllm-0-%d", i+1), workers, labels(i+1)))
	}
	return 4
}

// rayCluster makes a head and two workers, and all have to be there.
func rayCluster(o *operator) (pods int) {
	set := o.makes("ray", map[string]any{
		"enableInTreeAutoscaling": true, "headGroupSpec": map[string]any{}, "workerGroupSpecs": []any{
			map[string]any{"groupName": "gpu", "replicas": int64(2), "minReplicas": int64(2), "maxReplicas": int64(9)},
		},
	})
	labels := func(group string) map[string]string {
		return map[string]string{"ray.io/cluster": "ray", "ray.io/group": group, "ray.io/is-ray-node": "yes"}
	}
	o.createPods(
		owned("ray-head", set, labels("headgroup")), owned("ray-gpu-a", set, labels("gpu")), owned("ray-gpu-b", set, labels("gpu")),
	)
	return 3
}

// Pods of others start whole, though nobody has written a word for muster: neither a label nor an annotation.
func TestPodsOfOperatorsStartWhole(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct {
		resource schema.GroupVersionResource
		make     func(o *operator) (pods int)
		gang     string
	}{
		"JobSet": {schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}, jobSet, "train"},
		"LeaderWorkerSet": {
			schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"}, leaderWorkerSet, "vllm/0",
		},
		"RayCluster": {schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}, rayCluster, "ray"},
	} {
		t.Run(kind, func(t *testing.T) {
			lab.LongUnless(t, kind == "JobSet")
			o, w := newOperator(t, test.resource, kind, muster.Options{})
			c := o.cluster
			pods := test.make(o)
			o.EventuallyIs("its pods are there", pods, func() int { return len(c.Pods()) })
			c.createNodes(workload.NewNodes("node", pods-1, "4")...)
			w.settles(exactly(map[string]int{}))
			c.createNodes(workload.NewNode("last", "4"))
			w.settles(exactly(map[string]int{"": pods}))
			if page, err := w.Page(w.Context(), "/debug/gangs"); err != nil || !strings.Contains(page, workload.Namespace+"/"+test.gang) {
				t.Errorf("/debug/gangs does not tell of %s: %s, error %v", test.gang, page, err)
			}
		})
	}
}

// Pods are gated by what they say of their controllers. A made-up one does not keep a pod from starting.
func TestPodsOfOperatorsAreGatedUntilTheyStart(t *testing.T) {
	t.Parallel()
	for _, by := range []muster.Gatekeeper{muster.Policy, muster.Webhook} {
		t.Run(string(by), func(t *testing.T) {
			lab.LongUnless(t, by == muster.Policy)
			resource := schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}
			o, w := newOperator(t, resource, "RayCluster", muster.Options{Gates: muster.UntilMembers, GatedBy: by})
			o.createNodes(workload.NewNodes("node", 4, "4")...)
			set := o.makes("late", map[string]any{"workerGroupSpecs": []any{map[string]any{"groupName": "gpu", "replicas": int64(1)}}})
			labels := func(group string) map[string]string {
				return map[string]string{"ray.io/cluster": "late", "ray.io/group": group}
			}
			o.createPods(owned("late-head", set, labels("headgroup")))
			forged := set
			forged.Name, forged.UID = "made-up", "made-up"
			alone := owned("alone", forged, labels("headgroup"))
			if got := o.created(alone.DeepCopy()); len(got) != 1 {
				t.Errorf("a pod of a made-up owner is created with the gates %v", got)
			}
			o.createPods(alone)
			w.awaits(exactly(map[string]int{"": 1}))
			if !muster.Gated(o.Pod("late-head")) {
				t.Error("a member is not gated while another one is missing")
			}
			o.createPods(owned("late-gpu", set, labels("gpu")))
			w.settles(exactly(map[string]int{"": 3}))
		})
	}
}

// newOperator begins with a muster that runs before there is the custom resource.
func newOperator(t *testing.T, resource schema.GroupVersionResource, kind string, options muster.Options) (*operator, *witness) {
	t.Helper()
	c := newClusterWith(t, []string{"job-controller"})
	w := c.serveAndSchedule(options).watch()
	o := &operator{c, resource, kind}
	o.Define(o.resource, o.kind)
	o.Eventually("muster follows it", func() error { return w.logs("resource=" + resource.GroupResource().String()) })
	return o, w
}

// A pod that takes the place of a lost one goes alone, though others have ended meanwhile and muster does not remember the start.
func TestAPodOfAJobSetIsReplaced(t *testing.T) {
	lab.Long(t)
	resource := schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
	o, w := newOperator(t, resource, "JobSet", muster.Options{})
	o.createNodes(workload.NewNodes("node", 7, "4")...)
	pods := jobSet(o)
	w.settles(exactly(map[string]int{"": pods}))
	end := func(prefix string, phase corev1.PodPhase) {
		for name, pod := range o.Pods() {
			if strings.HasPrefix(name, prefix) {
				pod.Status.Phase = phase
				_, err := o.Client.CoreV1().Pods(workload.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
				o.Must(err)
				return
			}
		}
		t.Fatalf("there is no pod %s…", prefix)
	}
	end("train-driver-0-0-", corev1.PodSucceeded)
	w.Stop()
	o.Must(w.Restart(t.Context()))
	end("train-workers-1-2-", corev1.PodFailed)
	w.settles(exactly(map[string]int{"": pods + 1}))
}

// logs is nil once muster has logged something.
func (s *server) logs(words string) error {
	if text, err := os.ReadFile(s.Log()); err != nil || !strings.Contains(string(text), words) {
		return cmp.Or(err, errors.New("it is not logged"))
	}
	return nil
}
