package extender

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/scenario"
)

// preemption looks for victims on nodes, so that a pod fits.
type preemption struct {
	about     subject
	judge     *scenario.Judge
	evictions *placement.NodeEvictions
	// promised are the other nominated pods, by node, except pods of lower priority.
	promised map[string][]*cluster.Pod
	// spared are pods that plans of the rescheduler count on: they stay, even below the pod's priority.
	spared sets.Set[types.UID]
}

func newPreemption(
	about subject, snap *cluster.Snapshot, nominated []*cluster.Pod, spared sets.Set[types.UID],
) *preemption {
	p := &preemption{
		about: about, judge: scenario.New(snap).Judge(about.store.Profile.JudgeFit(about.pod, snap)),
		promised: map[string][]*cluster.Pod{}, spared: spared,
	}
	p.evictions = placement.NewNodeEvictions(snap, p.may)
	for _, pod := range nominated {
		if node := pod.Status.NominatedNodeName; pod.UID != about.pod.UID && !p.outranks(pod) {
			p.promised[node] = append(p.promised[node], pod)
		}
	}
	return p
}

// victims returns the pods that have to go from a node: the proposed ones when they are enough, else the pods
// that the profile's predicates need gone. It returns nil when the pod would not fit even without all pods of
// lower priority.
//
// kube-scheduler proposes by its own predicates, and it may have fewer of them on than
// the profile: another pod that keeps this one away (anti-affinity, a port, a disk)
// has to go as well.
//
// A stranger gets no victims but the proposed ones: UIDs are not told to unknown callers.
//
// Pods that are only planned to be there are no victims, as kube-scheduler does not have them there. Nor are
// pods that are being deleted: it may have seen them go already. Either kind of lower priority counts as
// absent: plans will give way, and a pod that is going need not be evicted. A pod that is spared is no victim
// either, even if proposed.
func (p *preemption) victims(node *cluster.Node, planned sets.Set[types.UID], proposed *extenderv1.MetaVictims) *extenderv1.MetaVictims {
	node = p.without(node, planned)
	freed := node
	for _, victim := range proposed.Pods {
		if victim != nil {
			freed = freed.WithoutPod(types.UID(victim.UID))
		}
	}
	switch {
	case !p.spares(proposed) && p.fits(freed):
		return proposed
	case !p.about.stranger:
		return metaVictims(p.evictions.Victims(p.fits, node))
	default:
		return nil
	}
}

// choose returns the victims of a node without a proposal, nil as well when nobody has to go.
func (p *preemption) choose(node *cluster.Node, planned sets.Set[types.UID]) *extenderv1.MetaVictims {
	return metaVictims(p.evictions.Victims(p.fits, p.without(node, planned)))
}

// without returns a node without the pods of lower priority that are only planned to be there, or are going.
func (p *preemption) without(node *cluster.Node, planned sets.Set[types.UID]) *cluster.Node {
	return node.Without(func(pod *cluster.Pod) bool {
		return (planned.Has(pod.UID) || pod.DeletionTimestamp != nil) && p.outranks(pod)
	})
}

// spares reports whether one of the proposed victims is to stay.
func (p *preemption) spares(proposed *extenderv1.MetaVictims) bool {
	return slices.ContainsFunc(proposed.Pods, func(victim *extenderv1.MetaPod) bool {
		return victim != nil && p.spared.Has(types.UID(victim.UID))
	})
}

// fits reports whether the pod fits a node in some state, whether the pods nominated to it come or not:
// kube-scheduler asks for both (RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime). One may
// have come since it was asked for.
func (p *preemption) fits(node *cluster.Node) bool {
	if !p.judge.FitsIn(node) {
		return false
	}
	promised := p.promised[node.Name]
	for _, pod := range promised {
		node = node.WithoutPod(pod.UID).WithPod(pod)
	}
	return len(promised) == 0 || p.judge.FitsIn(node)
}

// may reports whether a pod may be evicted. One that the watch has not shown on the node yet stays:
// kube-scheduler may not have it there, if its binding had no answer.
func (p *preemption) may(pod *cluster.Pod) (placement.Eviction, bool) {
	return placement.Eviction{}, p.outranks(pod) && !pod.Placeholder && pod.Spec.NodeName != "" && !p.spared.Has(pod.UID)
}

// outranks reports whether the pod is of higher priority than another one.
func (p *preemption) outranks(other *cluster.Pod) bool {
	return corev1helpers.PodPriority(other.Pod) < corev1helpers.PodPriority(p.about.pod.Pod)
}

// metaVictims are victims as kube-scheduler is told of them: it takes the first one for the most
// important, and a node without any for an error.
func metaVictims(victims []placement.Victim) *extenderv1.MetaVictims {
	if len(victims) == 0 {
		return nil
	}
	told := &extenderv1.MetaVictims{}
	for _, v := range victims {
		told.Pods = append(told.Pods, &extenderv1.MetaPod{UID: string(v.Pod.UID)})
		if v.Violates {
			told.NumPDBViolations++
		}
	}
	return told
}
