package extender

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/rescheduler/reservation"
)

// preempt answers on which of the nodes the pod would fit once victims are gone, and which victims. It takes
// the scheduler's proposals over where they are enough. A stranger gets no other victims, and only the caller
// evicts.
func (e *Extender) preempt(q *request, m *memory) (report, error) {
	if q.unserved != "" {
		return q.report(""), noProfile(q.unserved)
	}
	outcome := outcomeOK
	evicted := e.victims(q)
	if len(evicted) == 0 {
		outcome = outcomeUnschedulable
	}
	return q.report(outcome), m.encode(extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: evicted})
}

// victims finds victims for a pod, and for its gang if that has yet to start. A pod that has room coming evicts nobody.
func (e *Extender) victims(q *request) victims {
	switch {
	case q.stranger && e.isUnknownMember(q.pod):
		snap := e.picker.cluster.Snapshot()
		if ranked := rank(snap, q.proposed); len(ranked) > 0 {
			e.postpone(q.pod, later{node: ranked[0].node.Name}, snap)
		}
		return victims{}
	case q.stranger:
		return e.victimsAlone(q.subject, q.proposed)
	}
	for _, preempter := range e.preempters {
		if victims, decided := preempter.preempt(q.subject); decided {
			return victims
		}
	}
	e.picker.cluster.Release(q.pod.UID)
	return e.victimsAlone(q.subject, q.proposed)
}

// victimsAlone finds victims for a pod for itself: on nodes that are proposed, and with offload on others if none of these will do.
func (e *Extender) victimsAlone(about subject, proposed victims) victims {
	nominated := e.picker.cluster.Nominated()
	snap := e.picker.cluster.Snapshot()
	p := newPreemption(about, snap, nominated, e.reservations.Spared(about.pod))
	if !reservation.Passes(about.pod) {
		if !about.stranger {
			e.stamps.See(about.pod.CreationTimestamp.Time)
		}
		p.ages = new(e.stamps.Ages(cluster.Resources{}))
	}
	p.left = e.reservations.LeftBy(about.pod)
	enough, later := e.amongProposed(p, snap, proposed)
	if len(enough) == 0 && !about.stranger && about.store.Profile.Offload {
		enough = e.amongOthers(p, snap, proposed)
	}
	if len(enough) == 0 && later.node != "" && !about.stranger {
		e.postpone(about.pod, later, snap)
	}
	return enough
}

// later is a node where a pod may evict others later: after a time, or once something is freed where that is 0.
type later struct {
	node  string
	after time.Duration
}

// postpone has a pod tried again once it may evict others on a node.
func (e *Extender) postpone(pod *cluster.Pod, l later, snap *cluster.Snapshot) {
	for _, refusals := range e.refusals {
		refusals.Postponed(pod.UID, l.node, snap.Generation, l.after)
	}
}

// amongProposed finds victims on the best few of the nodes that are proposed if a proposal for one of them holds and harms no gang,
// else on all. The soonest is a node where some of the victims must stay for a time, the shortest one of all nodes.
func (e *Extender) amongProposed(p *preemption, snap *cluster.Snapshot, proposed victims) (enough victims, soonest later) {
	ranked := rank(snap, proposed)
	few := min(enoughNodes, len(ranked))
	enough = victims{}
	for _, some := range [][]proposal{ranked[:few], ranked[few:]} {
		for _, proposal := range some {
			if p.left.Has(proposal.node.Name) {
				continue
			}
			if found := p.victims(proposal.node, e.planned(proposal.node.Pods), proposal.victims); found != nil {
				enough[proposal.node.Name] = found
			} else if stays, after := p.spares(proposal.node, proposal.victims); stays {
				if soonest.node == "" || after > 0 && (soonest.after == 0 || after < soonest.after) {
					soonest = later{proposal.node.Name, after}
				}
			}
		}
		if e.spare(enough) && holds(proposed, enough) {
			break
		}
	}
	return enough, soonest
}

// amongOthers finds victims on nodes that are not proposed, the best few of them if that harms no gang. With offload kube-scheduler
// proposes a tenth of the nodes, where evictions make room: none of these need suit the pod otherwise.
func (e *Extender) amongOthers(p *preemption, snap *cluster.Snapshot, proposed victims) victims {
	all := victims{}
	for node := range snap.Nodes() {
		if proposed[node.Name] != nil || p.left.Has(node.Name) {
			continue
		}
		if found := p.choose(node, e.planned(node.Pods)); found != nil {
			all[node.Name] = found
		}
	}
	ranked := rank(snap, all)
	few := victims{}
	for _, best := range ranked[:min(enoughNodes, len(ranked))] {
		few[best.node.Name] = best.victims
	}
	if e.spare(few) {
		return few
	}
	e.spare(all)
	return all
}

// spare takes out of the answer about a preemption what would do harm, and reports whether what is left does none.
func (e *Extender) spare(victims victims) (harmless bool) {
	harmless = true
	for _, sparer := range e.sparers {
		harmless = sparer.spare(victims) && harmless
	}
	return harmless
}

// holds reports whether a proposal is answered as it was made for one node at least.
func holds(proposed, answered victims) bool {
	for node, victims := range answered {
		if victims == proposed[node] {
			return true
		}
	}
	return false
}

// planned returns the pods on nodes that kube-scheduler does not have there yet: they only count
// there since they were planned ahead of it. Room that plans of the rescheduler keep is left to its pods.
func (e *Extender) planned(pods []*cluster.Pod) sets.Set[types.UID] {
	planned := sets.New[types.UID]()
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			continue
		}
		for _, planner := range e.planners {
			if planner.planned(pod.UID) {
				planned.Insert(pod.UID)
				break
			}
		}
	}
	return planned
}

// enoughNodes is of how many nodes kube-scheduler is told, the best by its own rules, when evictions there are as it proposes: it
// proposes a tenth of the cluster, and takes one.
const enoughNodes = 8

// proposal is a node, and the pods that kube-scheduler proposes to evict from it.
type proposal struct {
	node    *cluster.Node
	victims *extenderv1.MetaVictims
	cost    placement.Cost
}

// rank returns the proposals for nodes that the snapshot knows, the best ones first and equal ones in any order.
func rank(snap *cluster.Snapshot, proposed victims) []proposal {
	ranked := make([]proposal, 0, len(proposed))
	for name, victims := range proposed {
		if node := snap.NodeByName(name); node != nil && len(victims.Pods) > 0 {
			ranked = append(ranked, proposal{node, victims, costOf(node, victims)})
		}
	}
	slices.SortFunc(ranked, func(a, b proposal) int { return a.cost.Compare(&b.cost) })
	return ranked
}

// costOf returns the cost of evicting pods from a node, also pods that it does not have in this view.
func costOf(node *cluster.Node, victims *extenderv1.MetaVictims) placement.Cost {
	c := placement.Cost{Violations: victims.NumPDBViolations}
	for _, victim := range victims.Pods {
		if victim != nil {
			if pod := node.Pod(types.UID(victim.UID)); pod != nil {
				c.Add(pod)
				continue
			}
		}
		c.AddUnknown()
	}
	return c
}

// preemption looks for victims on nodes, so that a pod fits.
type preemption struct {
	about     subject
	judge     *scenario.Judge
	evictions *placement.NodeEvictions
	// promised are the other nominated pods, by node, except pods of lower priority.
	promised map[string][]*cluster.Pod
	// spared are pods that plans of the rescheduler count on: they stay, even below the pod's priority.
	spared sets.Set[types.UID]
	// ages tell which pods have not run for as long as they ask to: those stay as well. It is nil for a pod that need not heed that.
	ages *runtimes.Ages
	// left are the nodes that the pod is kept away from: nobody is evicted there for it.
	left sets.Set[string]
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
	stays, _ := p.spares(node, proposed)
	freed := node
	for _, victim := range proposed.Pods {
		if victim != nil {
			freed = freed.WithoutPod(types.UID(victim.UID))
		}
	}
	switch {
	case !stays && p.fits(freed):
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

// spares reports whether some of the proposed victims of a node are to stay, and after what time none is, 0 if nobody knows.
func (p *preemption) spares(node *cluster.Node, proposed *extenderv1.MetaVictims) (stays bool, after time.Duration) {
	plans := false
	for _, victim := range proposed.Pods {
		if victim == nil {
			continue
		}
		uid := types.UID(victim.UID)
		if plans = plans || p.spared.Has(uid); p.ages == nil {
			continue
		}
		if pod := node.Pod(uid); pod != nil {
			after = max(after, p.ages.Owed(pod))
		}
	}
	if plans {
		return true, 0
	}
	return after > 0, after
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
	stays := p.spared.Has(pod.UID) || p.ages != nil && p.ages.Owed(pod) > 0
	return placement.Eviction{}, p.outranks(pod) && !pod.Placeholder && pod.Spec.NodeName != "" && !stays
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
