package reschedulerfaults

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

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
				findings = append(findings, finding{unapproved, fmt.Sprintf("pod %s by %s", pod.Name, p.name())})
			}
		}
	}
	return findings
}
