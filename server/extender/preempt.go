package extender

import (
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/server/wire"
)

// preempt answers on which of the nodes the pod would fit once victims are gone, and which victims. It takes
// the scheduler's proposals over where they are enough. A stranger gets no other victims, and only the caller
// evicts.
func (e *Extender) preempt(c *call) error {
	var args wire.PreemptArgs
	if err := args.Read(&c.decoder, c.body, podsOn(e.picker.cluster.Snapshot())); err != nil {
		return badRequest(err)
	}
	c.args.Pod = args.Pod
	if err := e.find(c); err != nil {
		return err
	}
	if err := e.profile(c); err != nil {
		return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: err}
	}
	result := extenderv1.ExtenderPreemptionResult{}
	if c.subject.known {
		result.NodeNameToMetaVictims = e.preemptKnown(c, args.Victims)
	} else {
		result.NodeNameToMetaVictims = e.preemptAlone(c, args.Victims)
	}
	if len(result.NodeNameToMetaVictims) == 0 {
		c.outcome = outcomeUnschedulable
	}
	return c.encode(result)
}

// preemptKnown finds victims for a pod that waits, and for its gang if that has yet to start. A pod that has
// room coming evicts nobody.
func (e *Extender) preemptKnown(c *call, proposed victims) victims {
	for _, preempter := range e.preempters {
		if victims, decided := preempter.preempt(c); decided {
			return victims
		}
	}
	e.picker.cluster.Release(c.subject.pod.UID)
	return e.preemptAlone(c, proposed)
}

// preemptAlone finds victims for a pod for itself: on nodes that are proposed, and with offload on others if none of these will do.
func (e *Extender) preemptAlone(c *call, proposed victims) victims {
	nominated := e.picker.cluster.Nominated()
	snap := e.picker.cluster.Snapshot()
	p := newPreemption(&c.subject, c.store.Profile, snap, nominated, e.reserved.reservations.Spared(c.subject.pod))
	enough, later := e.amongProposed(p, snap, proposed)
	if len(enough) == 0 && c.subject.known && c.store.Profile.Offload {
		enough = e.amongOthers(p, snap, proposed)
	}
	if len(enough) == 0 && later != "" && c.subject.known {
		for _, refusals := range e.refusals {
			refusals.Postponed(c.subject.pod.UID, later, snap.Generation)
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
// there since they were planned ahead of it.
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

// podsOn tells how many pods there are on the nodes of a snapshot.
func podsOn(snap *cluster.Snapshot) wire.Node {
	return func(name []byte) (pods int, known bool) {
		node := snap.Node(snap.NodeNames.Index(name))
		if node == nil {
			return 0, false
		}
		return len(node.Pods), true
	}
}
