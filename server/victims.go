package server

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// preemption looks for victims on nodes, so that a pod fits.
type preemption struct {
	pod       *cluster.Pod
	judgement *predicates.Judgement
	budgets   *placement.Budgets
}

// victims are those that have to go from a node: the proposed ones when that is
// enough, else those that the profile's predicates need gone. It returns nil when the
// pod would not fit whoever of lower priority goes.
//
// kube-scheduler proposes by its own predicates, and it may have fewer of them on than
// the profile: another pod that keeps this one away (anti-affinity, a port, a disk)
// has to go as well.
//
// Pods that are only planned to be there are no victims, as kube-scheduler does not have
// them there, nor are those that are going: it may have seen them go already. Those of lower
// priority are as if they were not: plans will give way, and what is going has not to be evicted.
func (p *preemption) victims(node *cluster.Node, planned sets.Set[types.UID], proposed *extenderv1.MetaVictims) *extenderv1.MetaVictims {
	defer p.judgement.Suppose(node)
	for _, pod := range node.Pods {
		if (planned.Has(pod.UID) || pod.DeletionTimestamp != nil) && p.outranks(pod) {
			node = node.WithoutPod(pod.UID)
		}
	}
	freed := node
	for _, victim := range proposed.Pods {
		if victim != nil {
			freed = freed.WithoutPod(types.UID(victim.UID))
		}
	}
	if p.fits(freed) {
		return proposed
	}
	return p.choose(node)
}

// choose takes away all pods of lower priority and gives back as many as it can, those
// first whose budgets do not allow to evict them, the more important ones before the
// others (SelectVictimsOnNode in
// pkg/scheduler/framework/plugins/defaultpreemption). Pods that the watch has not shown on
// the node yet stay: kube-scheduler may not have them there, if their binding had no answer.
func (p *preemption) choose(node *cluster.Node) *extenderv1.MetaVictims {
	var lower []*cluster.Pod
	for _, pod := range node.Pods {
		if p.outranks(pod) && !pod.Held && pod.Spec.NodeName != "" {
			lower = append(lower, pod)
			node = node.WithoutPod(pod.UID)
		}
	}
	if len(lower) == 0 || !p.fits(node) {
		return nil
	}
	slices.SortFunc(lower, placement.ByImportance)
	protected, others := p.byBudget(lower)
	chosen := &extenderv1.MetaVictims{}
	var gone []*cluster.Pod
	for i, pod := range slices.Concat(protected, others) {
		if back := node.WithPod(pod); p.fits(back) {
			node = back
			continue
		}
		gone = append(gone, pod)
		if i < len(protected) {
			chosen.NumPDBViolations++
		}
	}
	if len(gone) == 0 { // the scheduler takes that for an error
		return nil
	}
	slices.SortFunc(gone, placement.ByImportance) // the scheduler takes the first one for the most important
	for _, pod := range gone {
		chosen.Pods = append(chosen.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
	}
	return chosen
}

// outranks says that the pod is of higher priority than another one.
func (p *preemption) outranks(other *cluster.Pod) bool {
	return corev1helpers.PodPriority(other.Pod) < corev1helpers.PodPriority(p.pod.Pod)
}

func (p *preemption) fits(node *cluster.Node) bool {
	p.judgement.Suppose(node)
	return p.judgement.Verdict(node) == predicates.Fits
}

// byBudget parts pods into those whose eviction, one after the other, exceeds what a
// disruption budget allows, and the others.
func (p *preemption) byBudget(pods []*cluster.Pod) (protected, others []*cluster.Pod) {
	evicted := map[*policyv1.PodDisruptionBudget]int32{}
	for _, pod := range pods {
		exceeded := false
		for _, budget := range p.budgets.Of(pod) {
			evicted[budget]++
			exceeded = exceeded || evicted[budget] > budget.Status.DisruptionsAllowed
		}
		if exceeded {
			protected = append(protected, pod)
		} else {
			others = append(others, pod)
		}
	}
	return protected, others
}
