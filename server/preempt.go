package server

import (
	"net/http"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// preempt answers on which of the nodes the pod would fit once victims are gone, and
// which. Those that the scheduler proposes are taken over where they are enough. For a stranger there are
// no others, and nobody is evicted but by who asks.
func (e *Extender) preempt(c *call) error {
	var args wire.PreemptArgs
	if err := args.Read(&c.decoder, c.body, podsOn(e.cluster.Snapshot())); err != nil {
		return badRequest(err)
	}
	c.args.Pod = args.Pod
	about, err := e.subject(c, &c.args.Pod)
	if err != nil {
		return err
	}
	c.subject = about.pod
	profile, err := e.profile(c, about.pod.Spec.SchedulerName)
	if err != nil {
		return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: err}
	}
	result := extenderv1.ExtenderPreemptionResult{}
	if about.known {
		result.NodeNameToMetaVictims = e.preemptKnown(c, profile, about.pod, args.Victims)
	} else {
		result.NodeNameToMetaVictims = e.preemptAlone(profile, about, args.Victims)
	}
	if len(result.NodeNameToMetaVictims) == 0 {
		c.outcome = outcomeUnschedulable
	}
	return e.encode(c, result)
}

// preemptKnown finds victims for a pod that waits, and for its gang if that has yet to start. Whoever
// has room coming evicts nobody.
func (e *Extender) preemptKnown(
	c *call, profile *predicates.VerdictStore, pod *cluster.Pod, proposed map[string]*extenderv1.MetaVictims,
) map[string]*extenderv1.MetaVictims {
	if e.gangs != nil {
		if preemption, starting := e.gangs.Preempt(pod); starting {
			return victimsOf(preemption)
		}
	}
	if len(e.claim(c, profile, pod)) > 0 {
		return map[string]*extenderv1.MetaVictims{}
	}
	e.cluster.Release(pod.UID)
	return e.preemptAlone(profile, &subject{pod: pod, known: true}, proposed)
}

// preemptAlone finds victims for a pod for itself on each of the nodes that are proposed.
func (e *Extender) preemptAlone(
	profile *predicates.VerdictStore, about *subject, proposed map[string]*extenderv1.MetaVictims,
) map[string]*extenderv1.MetaVictims {
	snap := e.cluster.Snapshot()
	p := newPreemption(about, profile.Profile, snap)
	enough := map[string]*extenderv1.MetaVictims{}
	for name, victims := range proposed {
		node := snap.NodeByName(name)
		if node == nil || len(victims.Pods) == 0 {
			continue
		}
		if found := p.victims(node, e.planned(node.Pods), victims); found != nil {
			enough[name] = found
		}
	}
	if e.gangs != nil {
		e.spareGangs(enough)
	}
	return enough
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
