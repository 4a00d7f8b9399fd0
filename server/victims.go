package server

import (
	"cmp"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// preemption looks for victims on nodes, so that a pod fits.
type preemption struct {
	pod       *cluster.Pod
	snap      *cluster.Snapshot
	judgement *predicates.Judgement
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
// them there. Those of lower priority are as if they were not: their plans will give way.
func (p *preemption) victims(node *cluster.Node, planned sets.Set[types.UID], proposed *extenderv1.MetaVictims) *extenderv1.MetaVictims {
	defer p.judgement.Suppose(node)
	for _, pod := range node.Pods {
		if planned.Has(pod.UID) && p.outranks(pod) {
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
// pkg/scheduler/framework/plugins/defaultpreemption).
func (p *preemption) choose(node *cluster.Node) *extenderv1.MetaVictims {
	var lower []*cluster.Pod
	for _, pod := range node.Pods {
		if p.outranks(pod) {
			lower = append(lower, pod)
			node = node.WithoutPod(pod.UID)
		}
	}
	if len(lower) == 0 || !p.fits(node) {
		return nil
	}
	slices.SortFunc(lower, byImportance)
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
	slices.SortFunc(gone, byImportance) // the scheduler takes the first one for the most important
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

// byImportance orders pods as kube-scheduler does: by priority, and of equals the one
// that has run the longest first (MoreImportantPod in pkg/scheduler/util).
func byImportance(a, b *cluster.Pod) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b.Pod), corev1helpers.PodPriority(a.Pod)),
		startOf(a).Compare(startOf(b).Time),
	)
}

// startOf is the time since when a pod runs, the end of time for one that does not yet.
func startOf(pod *cluster.Pod) metav1.Time {
	if pod.Status.StartTime == nil {
		return metav1.Unix(1<<40, 0)
	}
	return *pod.Status.StartTime
}

// byBudget parts pods into those whose eviction, one after the other, exceeds what a
// disruption budget allows, and the others.
func (p *preemption) byBudget(pods []*cluster.Pod) (protected, others []*cluster.Pod) {
	allowed := map[*policyv1.PodDisruptionBudget]int32{}
	for _, budget := range p.snap.DisruptionBudgets.All() {
		allowed[budget] = budget.Status.DisruptionsAllowed
	}
	for _, pod := range pods {
		exceeded := false
		for budget := range allowed {
			if budgets(budget, pod) {
				allowed[budget]--
				exceeded = exceeded || allowed[budget] < 0
			}
		}
		if exceeded {
			protected = append(protected, pod)
		} else {
			others = append(others, pod)
		}
	}
	return protected, others
}

// budgets says that an eviction of the pod would be counted against the budget. One
// that is under way already is not.
func budgets(budget *policyv1.PodDisruptionBudget, pod *cluster.Pod) bool {
	if budget.Namespace != pod.Namespace || len(pod.Labels) == 0 {
		return false
	}
	if _, underWay := budget.Status.DisruptedPods[pod.Name]; underWay {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels))
}
