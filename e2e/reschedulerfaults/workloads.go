package reschedulerfaults

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

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
