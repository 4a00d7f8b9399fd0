package reservation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// Rehearsal carries out plans on a model of the cluster as it is.
type Rehearsal struct {
	Cluster  *cluster.Cluster
	Profiles *predicates.Profiles
	// Protects says why a pod may not be evicted from a node, "" when it may. Nil: all may.
	Protects func(pod *cluster.Pod, from *cluster.Node) string
}

// Objection carries out the rest of a plan, from a step on. It returns why that does not work, ""
// when it does.
func (r *Rehearsal) Objection(plan *v1alpha1.ReschedulingPlan, from int) string {
	world := r.without(plan)
	snap := world.Snapshot()
	for i := from; i < len(plan.Spec.Steps); i++ {
		step := &plan.Spec.Steps[i]
		from := world.NodeByName(step.From)
		pod := Bound(snap.NodeByName(step.From), step.Pod.UID)
		if pod == nil {
			return fmt.Sprintf("%s is not on %s any more", step.Pod, step.From)
		}
		if r.Protects != nil {
			if why := r.Protects(pod, from); why != "" {
				return fmt.Sprintf("%s may not be evicted any more: %s", step.Pod, why)
			}
		}
		world.Take(pod, from.Index)
		if why := r.put(world, r.Cluster.Foreseen(cluster.NewPod(unbound(step, i))), step.To); why != "" {
			return fmt.Sprintf("%s does not take what replaces %s any more: %s", step.To, step.Pod, why)
		}
	}
	for _, b := range plan.Spec.Beneficiaries {
		pod := r.Cluster.PendingPod(b.UID)
		if pod == nil || r.Cluster.PlaceOf(b.UID) != "" { // it is bound, or counts where it is about to be
			continue
		}
		if why := r.put(world, pod, b.Node); why != "" {
			return fmt.Sprintf("%s would not take %s any more: %s", b.Node, b, why)
		}
	}
	return ""
}

// Refusal says why the place of a step does not do for what came in the place of its pod, once that is gone; "" when it
// does.
func (r *Rehearsal) Refusal(plan *v1alpha1.ReschedulingPlan, at int, replacement *cluster.Pod) string {
	world, step := r.without(plan), &plan.Spec.Steps[at]
	if from := world.NodeByName(step.From); from != nil {
		if victim := Bound(from, step.Pod.UID); victim != nil {
			world.Take(victim, from.Index)
		}
	}
	return r.put(world, replacement, step.To)
}

// without returns the cluster as it is, without the room that a plan keeps.
func (r *Rehearsal) without(plan *v1alpha1.ReschedulingPlan) *scenario.Scenario {
	world := scenario.New(r.Cluster.Snapshot())
	for node := range world.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if IsOf(pod, plan) {
				world.Take(pod, node.Index)
			}
		}
	}
	return world
}

// Bound returns the pod of that UID on a node, as the watch shows it; nil when it is not there, and when
// there is no node.
func Bound(node *cluster.Node, uid types.UID) *cluster.Pod {
	if pod := node.Pod(uid); pod != nil && pod.Spec.NodeName != "" {
		return pod
	}
	return nil
}

// unbound returns the replacement of a step, under a UID of its own.
func unbound(step *v1alpha1.Step, at int) *corev1.Pod {
	pod := step.Object()
	pod.UID = step.Pod.UID + "/replacement"
	pod.Name = fmt.Sprintf("%s-replacement-%d", step.Pod.Name, at)
	return pod
}

// put puts a pod on a node of a scenario, or returns why it does not fit.
func (r *Rehearsal) put(world *scenario.Scenario, pod *cluster.Pod, name string) string {
	node, store := world.NodeByName(name), r.Profiles.Of(pod.Spec.SchedulerName)
	switch {
	case node == nil:
		return "the node is gone"
	case store == nil:
		return fmt.Sprintf("there is no profile for spec.schedulerName %q", pod.Spec.SchedulerName)
	}
	judge := world.Judge(store.Profile.Judge(pod, world.Snapshot()))
	if judge.Fits(node.Index) {
		world.Put(pod, node.Index)
		return ""
	}
	var reasons []string
	for _, objection := range judge.Judgement().Against(node) {
		reasons = append(reasons, objection.Reason)
	}
	return strings.Join(reasons, ", ")
}
