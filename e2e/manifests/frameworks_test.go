package manifests

import (
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// What a framework's controller makes of the documentation's manifest, up to the Jobs, StatefulSets or pods, is made here;
// the rest is Kubernetes' own. Each gang has room all the while, and nothing of it may be bound before it is whole.

func TestTheJobSetOfTheDocumentationStartsWhole(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.define()
	jobSet := c.object("docs/beside/jobset.md", "JobSet", "train")
	c.Create(workload.NewNode("a", "16"))
	s := c.serve("muster")

	owner := c.ownerOf(jobSet)
	create := map[string]func(){}
	const set = "jobset.sigs.k8s.io/jobset-name"
	type replicatedJob struct {
		Name     string                  `json:"name"`
		Replicas int                     `json:"replicas"`
		Template batchv1.JobTemplateSpec `json:"template"`
	}
	pods := 0
	for _, replicated := range field[[]replicatedJob](c, jobSet, "spec", "replicatedJobs") {
		pods += replicated.Replicas * int(*replicated.Template.Spec.Parallelism)
		create[replicated.Name] = func() {
			for i := range replicated.Replicas {
				job := &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{
						Name: fmt.Sprintf("%s-%s-%d", jobSet.GetName(), replicated.Name, i), OwnerReferences: owner,
					},
					Spec: *replicated.Template.Spec.DeepCopy(),
				}
				job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
				job.Spec.Template.Labels = map[string]string{
					set: jobSet.GetName(), "jobset.sigs.k8s.io/replicatedjob-name": replicated.Name,
					"jobset.sigs.k8s.io/job-index": strconv.Itoa(i),
				}
				_, err := c.Client.BatchV1().Jobs(metav1.NamespaceDefault).Create(t.Context(), job, metav1.CreateOptions{})
				c.Must(err)
			}
		}
	}
	selector := set + "=" + jobSet.GetName()
	create["workers"]()
	c.awaitTried(selector, pods-1)
	gangs, err := s.Gangs(t.Context())
	c.Must(err)
	if g := gangs["default/train"]; g.MinMember != pods || g.Pending != pods-1 {
		t.Errorf("the gang is %+v, of %d pods", g, pods)
	}
	create["leader"]()
	c.awaitBound(selector, pods)
}

// ownerOf creates an object, and returns the reference that what its controller makes has.
func (c *cluster) ownerOf(object *unstructured.Unstructured) []metav1.OwnerReference {
	c.Helper()
	c.Must(c.create(c.served(), object))
	resource, err := c.served().RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	c.Must(err)
	objects := c.Dynamic.Resource(resource.Resource).Namespace(metav1.NamespaceDefault)
	made, err := objects.Get(c.Context(), object.GetName(), metav1.GetOptions{})
	c.Must(err)
	return []metav1.OwnerReference{*metav1.NewControllerRef(made, object.GroupVersionKind())}
}

func TestEachReplicaOfTheLeaderWorkerSetOfTheDocumentationStartsWhole(t *testing.T) {
	lab.Long(t)
	// Pods are made here: a webhook of LeaderWorkerSet would label the leaders that the controller of StatefulSets makes.
	c := newClusterWith(t, "serviceaccount-controller")
	c.define()
	set := c.object("docs/beside/leaderworkerset.md", "LeaderWorkerSet", "serve")
	replicas := int(field[int32](c, set, "spec", "replicas"))
	size := field[int32](c, set, "spec", "leaderWorkerTemplate", "size")
	template := field[corev1.PodTemplateSpec](c, set, "spec", "leaderWorkerTemplate", "workerTemplate")
	cpu := template.Spec.Containers[0].Resources.Requests.Cpu()
	c.Create(workload.NewNode("a", strconv.Itoa(int(size)*int(cpu.Value())+1))) // room for one replica, and not for a second one
	s := c.serve("muster")

	const prefix = "leaderworkerset.sigs.k8s.io/"
	statefulSet := func(name string, pods int32, labels map[string]string, by []metav1.OwnerReference) *appsv1.StatefulSet {
		t.Helper()
		template := template.DeepCopy()
		template.Labels = labels
		made, err := c.Client.AppsV1().StatefulSets(metav1.NamespaceDefault).Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: by},
			Spec: appsv1.StatefulSetSpec{
				Replicas: &pods, Ordinals: &appsv1.StatefulSetOrdinals{Start: 1}, PodManagementPolicy: appsv1.ParallelPodManagement,
				ServiceName: set.GetName(), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *template,
			},
		}, metav1.CreateOptions{})
		c.Must(err)
		return made
	}
	labels := func(replica int, worker string) map[string]string {
		return map[string]string{
			prefix + "name": set.GetName(), prefix + "group-index": strconv.Itoa(replica), prefix + "worker-index": worker,
		}
	}
	pod := func(name string, labels map[string]string, by *appsv1.StatefulSet) *corev1.Pod {
		t.Helper()
		made, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(by, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
			},
			Spec: template.Spec,
		}, metav1.CreateOptions{})
		c.Must(err)
		return made
	}
	leaders := statefulSet(set.GetName(), int32(replicas), map[string]string{prefix + "worker-index": "0"}, c.ownerOf(set))
	for i := range replicas {
		leader := pod(fmt.Sprintf("%s-%d", set.GetName(), i), labels(i, "0"), leaders)
		workers := statefulSet(leader.Name, size-1, labels(i, "1"), []metav1.OwnerReference{
			*metav1.NewControllerRef(leader, corev1.SchemeGroupVersion.WithKind("Pod")),
		})
		if i == 0 {
			c.awaitTried(prefix+"worker-index=0", 1) // it waits for its workers
		}
		for worker := 1; worker < int(size); worker++ {
			pod(fmt.Sprintf("%s-%d", leader.Name, worker), labels(i, strconv.Itoa(worker)), workers)
		}
	}
	all := prefix + "name=" + set.GetName()
	c.awaitBound(all, int(size))
	gangs, err := s.Gangs(t.Context())
	c.Must(err)
	bound := 0
	for i := range replicas {
		g := gangs[fmt.Sprintf("default/%s/%d", set.GetName(), i)]
		if g.MinMember != int(size) || g.Bound != 0 && g.Bound != int(size) {
			t.Errorf("replica %d is %+v", i, g)
		}
		bound += g.Bound
	}
	if bound != int(size) {
		t.Errorf("%d pods are bound: %+v", bound, gangs)
	}
	c.Create(workload.NewNode("b", "16"))
	c.awaitBound(all, replicas*int(size))
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
