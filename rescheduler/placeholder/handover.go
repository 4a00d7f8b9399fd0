package placeholder

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/reservation"
)

// hasCome reports whether the pod that room is for has come, and kube-scheduler knows of it or is about to.
func (p *Placeholders) hasCome(r *reservation.Room) bool {
	if r.Taker == "" {
		return false
	}
	pod := p.Cluster.PendingPod(r.Taker)
	switch {
	case pod == nil:
		return true
	case len(pod.Spec.SchedulingGates) > 0:
		return pod.Status.NominatedNodeName != ""
	}
	return r.Beneficiary == ""
}

// givesWay keeps a pod nominated that waits for its room, once all has gone that was in its way, and reports whether its
// placeholder pod may go. An attempt of kube-scheduler's that fails, as one does while the placeholder pod is there, takes
// the nomination away: so it is to outlive the attempts under way. Where it cannot be written again and again, its node
// has room for it all the same; that the watch has yet to show what was written is no such failure.
func (p *Placeholders) givesWay(ctx context.Context, r *reservation.Room) bool {
	if r.Beneficiary == "" || !allMoved(r.Plan) {
		return false
	}
	pod := p.Cluster.PendingPod(r.Beneficiary)
	switch {
	case pod == nil:
		return true
	case len(pod.Spec.SchedulingGates) > 0:
		return false
	}
	if pod.Status.NominatedNodeName == r.Node {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.hasBeenShown(pod.UID)
	}
	p.mu.Lock()
	delete(p.shown, pod.UID)
	p.mu.Unlock()
	about := "for " + name(r)
	err := p.try(about, "nominate", func() error { return p.Client.Nominate(ctx, pod.Pod, r.Node) })
	return p.failures.persists(about) && !nomination.Outdated(err)
}

// hasBeenShown reports whether a pod has been nominated for as long as kube-scheduler may act on what it saw before. The
// caller holds the lock.
func (p *Placeholders) hasBeenShown(pod types.UID) bool {
	since, is := p.shown[pod]
	return is && p.Clock.Since(since) >= p.Margin
}

// beneficiaries returns the pods that rooms are made for, and that wait for them.
func (p *Placeholders) beneficiaries(rooms []reservation.Room) (pods []*corev1.Pod) {
	for i := range rooms {
		if pod := p.Cluster.PendingPod(rooms[i].Beneficiary); rooms[i].Beneficiary != "" && pod != nil {
			pods = append(pods, pod.Pod)
		}
	}
	return pods
}

func allMoved(plan *v1alpha1.ReschedulingPlan) bool {
	for i := range plan.Spec.Steps {
		if plan.Step(i).Phase != v1alpha1.StepMoved {
			return false
		}
	}
	return true
}
