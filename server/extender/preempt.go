package extender

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
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
	if q.stranger {
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
	enough, later := e.amongProposed(p, snap, proposed)
	if len(enough) == 0 && !about.stranger && about.store.Profile.Offload {
		enough = e.amongOthers(p, snap, proposed)
	}
	if len(enough) == 0 && later != "" && !about.stranger {
		for _, refusals := range e.refusals {
			refusals.Postponed(about.pod.UID, later, snap.Generation)
		}
	}
	return enough
}

// amongProposed finds victims on the best few of the nodes that are proposed if a proposal for one of them holds and harms no gang,
// else on all. Later is a node where some of the victims must stay for now.
func (e *Extender) amongProposed(p *preemption, snap *cluster.Snapshot, proposed victims) (enough victims, later string) {
	ranked := rank(snap, proposed)
	few := min(enoughNodes, len(ranked))
	enough = victims{}
	for _, some := range [][]proposal{ranked[:few], ranked[few:]} {
		for _, proposal := range some {
			if found := p.victims(proposal.node, e.planned(proposal.node.Pods), proposal.victims); found != nil {
				enough[proposal.node.Name] = found
			} else if p.spares(proposal.victims) {
				later = proposal.node.Name
			}
		}
		if e.spare(enough) && holds(proposed, enough) {
			break
		}
	}
	return enough, later
}

// amongOthers finds victims on nodes that are not proposed, the best few of them if that harms no gang. With offload kube-scheduler
// proposes a tenth of the nodes, where evictions make room: none of these need suit the pod otherwise.
func (e *Extender) amongOthers(p *preemption, snap *cluster.Snapshot, proposed victims) victims {
	all := victims{}
	for node := range snap.Nodes() {
		if proposed[node.Name] != nil {
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
