package reschedulerfaults

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// Labels of pods: app is the name of their workload, tier that of a budget, and stays says why nobody may move them.
// Labels of nodes: rack is the domain.
const (
	appLabel, tierLabel, tierWeb = "app", "tier", "web"
	staysLabel                   = "e2e.muster.dev/stays"
	rackLabel                    = "e2e.muster.dev/rack"
)

// kind is the kind of an object that makes pods.
type kind string

// The kinds.
const (
	replicaSet  kind = "ReplicaSet"
	statefulSet kind = "StatefulSet"
	deployment  kind = "Deployment"
	batch       kind = "Job"
)

func (k kind) resource() schema.GroupVersionResource {
	group := "apps"
	if k == batch {
		group = "batch"
	}
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: strings.ToLower(string(k)) + "s"}
}

// replicasField is where an object of the kind says how many pods it is to have.
func (k kind) replicasField() string {
	if k == batch {
		return "parallelism"
	}
	return "replicas"
}

// guard is why nobody may move pods, "" for nothing.
type guard string

// The guards.
const (
	notSafe     guard = "not-safe-to-evict"
	undisturbed guard = "not-to-be-disrupted"
	localData   guard = "has-local-data"
	failsByIt   guard = "job-fails-by-it"
	ofSystem    guard = "of-kube-system"
)

// guards are all that pods of a ReplicaSet may have.
func guards() []guard { return []guard{notSafe, undisturbed, localData, ofSystem} }

// claim is the one that all pods with a claim share.
const claim = "shared"

// replicas are pods that a controller replaces.
type replicas struct {
	name     string
	kind     kind
	count    int
	milliCPU int64
	priority string // class
	web      bool
	gang     bool
	stays    guard
	claims   bool  // each pod has a volume that is bound
	heat     int64 // what the pods use, in percent of what they request
	grace    int64 // seconds
}

func (w *replicas) namespace() string {
	if w.stays == ofSystem {
		return metav1.NamespaceSystem
	}
	return workload.Namespace
}

func (w *replicas) labels() map[string]string {
	set := map[string]string{appLabel: w.name}
	if w.web {
		set[tierLabel] = tierWeb
	}
	if w.gang {
		set[schedulingv1alpha1.LabelMuster] = w.name
	}
	if w.stays != "" {
		set[staysLabel] = string(w.stays)
	}
	return set
}

// template makes the pods.
func (w *replicas) template() corev1.PodTemplateSpec {
	pod := workload.NewPod("", workload.Milli(w.milliCPU), workload.OfPriority(w.priority))
	pod.Spec.TerminationGracePeriodSeconds = &w.grace
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.labels(), Annotations: map[string]string{}}, Spec: pod.Spec}
	if w.gang {
		template.Annotations[schedulingv1alpha1.AnnotationMinMember] = fmt.Sprint(w.count)
	}
	switch w.stays {
	case notSafe:
		template.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false"
	case undisturbed:
		template.Annotations["karpenter.sh/do-not-disrupt"] = "true"
	case localData:
		template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	case failsByIt, ofSystem: // it does not say so itself
	}
	if w.claims {
		template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
	return template
}

func (w *replicas) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.name, Namespace: w.namespace(), Labels: map[string]string{appLabel: w.name}}
}

func (w *replicas) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.name}}
}

func (w *replicas) replicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: w.meta(),
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(w.count)), Selector: w.selector(), Template: w.template()},
	}
}

func (w *replicas) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: w.meta(),
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(w.count)), Selector: w.selector(), Template: w.template()},
	}
}

// statefulSet makes a pod again whichever of the others is not ready: else none would come while another one waits for
// room.
func (w *replicas) statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: w.meta(),
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(w.count)), Selector: w.selector(), Template: w.template(), PodManagementPolicy: appsv1.ParallelPodManagement,
		},
	}
}

// job is one that fails with the first of its pods, or one that does not take an eviction for a failure.
func (w *replicas) job() *batchv1.Job {
	template := w.template()
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: w.meta(),
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(w.count)), Completions: new(int32(w.count)), BackoffLimit: new(int32(0)), Template: template,
		},
	}
	if w.stays != failsByIt {
		job.Spec.BackoffLimit = new(int32(1000)) // of what else may happen to its pods
		job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}}}
	}
	return job
}

// budget returns a PodDisruptionBudget of the pods, that allows a number of them to be down.
func (w *replicas) budget(most int) *policyv1.PodDisruptionBudget {
	down := intstr.FromInt32(int32(most))
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: workload.Namespace},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.name}},
			MaxUnavailable: &down,
		},
	}
}

// What scripts do to workloads and their budgets.

func (r *run) createWorkload(ctx context.Context, w *replicas) (err error) {
	client, create := r.lane.Client, metav1.CreateOptions{}
	switch w.kind {
	case statefulSet:
		_, err = client.AppsV1().StatefulSets(w.namespace()).Create(ctx, w.statefulSet(), create)
	case batch:
		_, err = client.BatchV1().Jobs(w.namespace()).Create(ctx, w.job(), create)
	case deployment:
		_, err = client.AppsV1().Deployments(w.namespace()).Create(ctx, w.deployment(), create)
	case replicaSet:
		_, err = client.AppsV1().ReplicaSets(w.namespace()).Create(ctx, w.replicaSet(), create)
	}
	return faultcampaign.UnlessDone(err, "create workload", w.name)
}

// wanted is how many pods a workload is to have, as the API server told last.
func (r *run) wanted(name string) (count int) {
	r.record.look(func(s *state) {
		for _, set := range s.sets {
			if !set.gone && set.object.Labels[appLabel] == name {
				count += set.object.replicas
			}
		}
	})
	return count
}

func (r *run) scale(ctx context.Context, name string, by int) error {
	w, was := r.script.workload(name), r.wanted(name)
	to := max(0, was+by)
	r.Note(fmt.Sprintf("scale %s from %d to %d", name, was, to))
	return r.patch(ctx, w, fmt.Appendf(nil, `{"spec": {%q: %d}}`, w.kind.replicasField(), to))
}

// changeRequests has the pods of a workload that come from now on request so much: of a Job, whose template does not change,
// as they are created.
func (r *run) changeRequests(ctx context.Context, name string, milliCPU int64) error {
	w := r.script.workload(name)
	if w.kind == batch {
		return r.resize(ctx, name, milliCPU)
	}
	r.Note(fmt.Sprintf("pods of %s request %dm from now on", name, milliCPU))
	return r.patch(ctx, w, fmt.Appendf(nil,
		`{"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "%dm"}}}]}}}}`, milliCPU))
}

// rollOut has a new template of a workload, which asks for the same.
func (r *run) rollOut(ctx context.Context, name string) error {
	w := r.script.workload(name)
	if w.kind == batch {
		return nil
	}
	r.Note("roll out " + name)
	return r.patch(ctx, w, []byte(`{"spec": {"template": {"metadata": {"annotations": {"example.com/release": "2"}}}}}`))
}

// resize has the pods of a workload that are created from now on request so much, whatever its template says.
func (r *run) resize(ctx context.Context, name string, milliCPU int64) error {
	r.Note(fmt.Sprintf("pods of %s are created with %dm from now on", name, milliCPU))
	return r.lane.resize(ctx, name, fmt.Sprintf(`"%dm"`, milliCPU))
}

// patch changes a workload.
func (r *run) patch(ctx context.Context, w *replicas, patch []byte) error {
	_, err := r.lane.Dynamic.Resource(w.kind.resource()).Namespace(w.namespace()).
		Patch(ctx, w.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return faultcampaign.UnlessDone(err, "change", w.name)
}

// deleteWorkload deletes a workload, and what it has made as the garbage collector would.
func (r *run) deleteWorkload(ctx context.Context, name string) error {
	r.Note("delete workload " + name)
	w, background := r.script.workload(name), metav1.DeletePropagationBackground
	ofIt := metav1.ListOptions{LabelSelector: appLabel + "=" + name}
	err := r.lane.Dynamic.Resource(w.kind.resource()).Namespace(w.namespace()).
		Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err := faultcampaign.UnlessDone(err, "delete workload", name); err != nil {
		return err
	}
	err = r.lane.Client.AppsV1().ReplicaSets(w.namespace()).DeleteCollection(ctx, metav1.DeleteOptions{}, ofIt)
	if err := faultcampaign.UnlessDone(err, "delete ReplicaSets of", name); err != nil {
		return err
	}
	err = r.lane.Client.CoreV1().Pods(w.namespace()).DeleteCollection(ctx, metav1.DeleteOptions{}, ofIt)
	return faultcampaign.UnlessDone(err, "delete pods of", name)
}

// setBudget creates a PodDisruptionBudget, or changes what it allows.
func (r *run) setBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) error {
	budgets := r.lane.Client.PolicyV1().PodDisruptionBudgets(workload.Namespace)
	_, err := budgets.Create(ctx, budget, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		patch := fmt.Appendf(nil, `{"spec": {"maxUnavailable": %d}}`, budget.Spec.MaxUnavailable.IntValue())
		_, err = budgets.Patch(ctx, budget.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return faultcampaign.UnlessDone(err, "set PodDisruptionBudget", budget.Name)
}
