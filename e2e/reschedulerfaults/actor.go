package reschedulerfaults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// What scripts do to objects.

func (r *run) deleteNode(ctx context.Context, name string) error {
	r.Note("delete node " + name)
	return r.lane.DeleteNode(ctx, name)
}

func (r *run) cordon(ctx context.Context, name string, closed bool) error {
	r.Note(fmt.Sprintf("cordon node %s: %t", name, closed))
	return r.lane.Cordon(ctx, name, closed)
}

func (r *run) createWorkload(ctx context.Context, w *replicas) (err error) {
	apps := r.lane.Client.AppsV1()
	switch {
	case w.stateful:
		_, err = apps.StatefulSets(workload.Namespace).Create(ctx, w.statefulSet(), metav1.CreateOptions{})
	case w.job:
		_, err = r.lane.Client.BatchV1().Jobs(workload.Namespace).Create(ctx, w.batch(), metav1.CreateOptions{})
	default:
		_, err = apps.ReplicaSets(workload.Namespace).Create(ctx, w.replicaSet(), metav1.CreateOptions{})
	}
	return faultcampaign.UnlessDone(err, "create workload", w.name)
}

// set is the workload of a name, as the API server told of it last.
func (r *run) set(name string) (is set) {
	r.record.look(func(s *state) {
		for _, set := range s.sets {
			if set.object.Name == name {
				is = *set.object
			}
		}
	})
	return is
}

func (r *run) scale(ctx context.Context, name string, by int) error {
	was := r.set(name)
	to := max(0, was.replicas+by)
	r.Note(fmt.Sprintf("scale %s from %d to %d", name, was.replicas, to))
	return r.patch(ctx, was, name, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, to))
}

// changeRequests has the pods of a workload that come from now on request so much.
func (r *run) changeRequests(ctx context.Context, name string, milliCPU int64) error {
	r.Note(fmt.Sprintf("pods of %s request %dm from now on", name, milliCPU))
	return r.patch(ctx, r.set(name), name, fmt.Appendf(nil,
		`{"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "%dm"}}}]}}}}`, milliCPU))
}

// patch changes a workload.
func (r *run) patch(ctx context.Context, of set, name string, patch []byte) (err error) {
	apps := r.lane.Client.AppsV1()
	if of.stateful {
		_, err = apps.StatefulSets(workload.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	} else {
		_, err = apps.ReplicaSets(workload.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	return faultcampaign.UnlessDone(err, "change", name)
}

// deleteWorkload deletes a workload, and its pods as the garbage collector would.
func (r *run) deleteWorkload(ctx context.Context, name string) error {
	r.Note("delete workload " + name)
	background := metav1.DeletePropagationBackground
	deletes := r.lane.Client.AppsV1().ReplicaSets(workload.Namespace).Delete
	if r.set(name).stateful {
		deletes = r.lane.Client.AppsV1().StatefulSets(workload.Namespace).Delete
	}
	err := deletes(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err := faultcampaign.UnlessDone(err, "delete workload", name); err != nil {
		return err
	}
	err = r.lane.Client.CoreV1().
		Pods(workload.Namespace).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: appLabel + "=" + name})
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

// deletePlan deletes the one that is carried out, or made.
func (r *run) deletePlan(ctx context.Context) error {
	plan := r.plan()
	if plan == nil {
		return nil
	}
	return r.deletePlanCalled(ctx, plan.Name)
}

func (r *run) deletePlanCalled(ctx context.Context, name string) error {
	r.Note("delete plan " + name)
	err := r.lane.Dynamic.Resource(v1alpha1.ReschedulingPlans()).Delete(ctx, name, metav1.DeleteOptions{})
	return faultcampaign.UnlessDone(err, "delete plan", name)
}

// deletePlans deletes some plans.
func (r *run) deletePlans(ctx context.Context, some func(*v1alpha1.ReschedulingPlan) bool) error {
	var names []string
	r.record.look(func(s *state) {
		for _, p := range s.plans {
			if !p.gone && some(p.object) {
				names = append(names, p.object.Name)
			}
		}
	})
	slices.Sort(names)
	for _, name := range names {
		if err := r.deletePlanCalled(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) annotatePlan(ctx context.Context) error {
	plan := r.plan()
	if plan == nil {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"example.com/seen": %q}}}`, time.Now())
	_, err := r.lane.Dynamic.Resource(v1alpha1.ReschedulingPlans()).Patch(ctx, plan.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return faultcampaign.UnlessDone(err, "annotate plan", plan.Name)
}

// plan is one that has not ended, the one that is carried out first; nil for none.
func (r *run) plan() (plan *v1alpha1.ReschedulingPlan) {
	r.record.look(func(s *state) {
		for _, uid := range slices.Sorted(maps.Keys(s.plans)) {
			p := s.plans[uid]
			if p.ended.IsZero() && (plan == nil || p.object.Status.Phase == v1alpha1.Executing) {
				plan = p.object
			}
		}
	})
	return plan
}

// step is one of the plan that has not been done, nil for none.
func (r *run) step() *v1alpha1.Step {
	plan := r.plan()
	if plan == nil {
		return nil
	}
	for i := range plan.Spec.Steps {
		if plan.Step(i).Phase != v1alpha1.StepMoved {
			return &plan.Spec.Steps[i]
		}
	}
	return nil
}

// victim is the name of a pod that is to move, "" for none.
func (r *run) victim() string {
	if step := r.step(); step != nil {
		return step.Pod.Name
	}
	return ""
}

// movingWorkload is one of which a pod is to move, or the other.
func (r *run) movingWorkload(or string) string {
	if step := r.step(); step != nil {
		return step.Controller.Name
	}
	return or
}

// planNode is a node that a pod is to move to, or leave, or the other.
func (r *run) planNode(leaves bool, or string) string {
	step := r.step()
	switch {
	case step == nil:
		return or
	case leaves:
		return step.From
	}
	return step.To
}

// lastTarget is the node that the last pod of a plan is to go to, or the other.
func (r *run) lastTarget(or string) string {
	plan := r.plan()
	if plan == nil {
		return or
	}
	return plan.Spec.Steps[len(plan.Spec.Steps)-1].To
}
