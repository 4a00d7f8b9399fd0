package reschedulerfaults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
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

// movingWorkload returns a workload with a pod that is to move, else the given one.
func (r *run) movingWorkload(or string) string {
	if step := r.step(); step != nil && r.script.workload(step.Replacement.Labels[appLabel]) != nil {
		return step.Replacement.Labels[appLabel]
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

// words say what an entry tells that is worth reading, "" for nothing.
func (e entry) words() string {
	gone := ""
	if e.gone {
		gone = ", is gone"
	}
	switch {
	case e.plan != nil:
		var text strings.Builder
		fmt.Fprintf(&text, "plan %s: %s, %s%s;", e.plan.Name, e.plan.Status.Phase, e.plan.Status.Message, gone)
		for i := range e.plan.Spec.Steps {
			step := &e.plan.Spec.Steps[i]
			fmt.Fprintf(&text, " %s %s→%s %s;", step.Pod.Name, step.From, step.To, e.plan.Step(i).Phase)
		}
		for i := range e.plan.Spec.Beneficiaries {
			fmt.Fprintf(&text, " for %s on %s;", e.plan.Spec.Beneficiaries[i].Name, e.plan.Spec.Beneficiaries[i].Node)
		}
		return text.String()
	case e.pod != nil:
		leaving := ""
		if e.pod.DeletionTimestamp != nil {
			leaving = ", leaves"
		}
		reason := ""
		for _, c := range e.pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				reason = ", " + c.Message
			}
		}
		return fmt.Sprintf(
			"pod %s (%dm) on %q, nominated %q, ready %t%s%s%s", e.pod.Name, milliCPU(e.pod), e.pod.Spec.NodeName, e.pod.Status.NominatedNodeName,
			isReady(e.pod), leaving, gone, reason,
		)
	case e.node != nil && (e.gone || e.node.Spec.Unschedulable):
		return fmt.Sprintf("node %s, closed %t%s", e.node.Name, e.node.Spec.Unschedulable, gone)
	}
	return ""
}

// approve approves of plans that ask for it, some time after each was made, until the context ends.
func (r *run) approve(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: "true"}}}`, v1alpha1.AnnotationApprove)
	for ; ctx.Err() == nil; faultcampaign.Pause(ctx, faultcampaign.Look) {
		for _, name := range r.toApprove(time.Now().Add(-r.script.approvedAfter)) {
			r.Note("approve of plan " + name)
			_, err := r.lane.Dynamic.Resource(v1alpha1.ReschedulingPlans()).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			if err := faultcampaign.UnlessDone(err, "approve of plan", name); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// toApprove are the plans that wait for a yes and were made before a time.
func (r *run) toApprove(before time.Time) (names []string) {
	r.record.look(func(s *state) {
		for _, p := range s.plans {
			if p.ended.IsZero() && p.object.Spec.Mode == v1alpha1.Approve && !p.object.IsApproved() && p.since.Before(before) {
				names = append(names, p.object.Name)
			}
		}
	})
	return names
}

// judgeApproval looks for evictions of plans that ask for a yes and had none by then.
func (s *story) judgeApproval() (findings []finding) {
	for pod, before := range s.leaving() {
		e := s.granted(pod.UID)
		if e == nil {
			continue
		}
		for _, p := range before.plans {
			if p.evicts(pod.UID) && !p.endedBy(e.asked) && p.object.Spec.Mode == v1alpha1.Approve && !p.object.IsApproved() {
				findings = append(findings, faultcampaign.Found(unapproved, "pod %s by %s", pod.Name, p.name()))
			}
		}
	}
	return findings
}
