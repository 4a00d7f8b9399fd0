package server

import (
	"encoding/json"
	"errors"
	"net/http"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// preempt answers on which of the nodes the pod would fit once victims are gone, and
// which. Those that the scheduler proposes are taken over where they are enough.
func (e *Extender) preempt(c *call) error {
	var args extenderv1.ExtenderPreemptionArgs
	if err := json.Unmarshal(c.body, &args); err != nil {
		return badRequest(err)
	}
	if args.Pod == nil {
		return badRequest(errors.New("Pod: missing")) //nolint:staticcheck // the field is spelled so
	}
	c.args.Pod.Namespace, c.args.Pod.Name, c.args.Pod.UID = args.Pod.Namespace, args.Pod.Name, args.Pod.UID
	profile, err := e.profile(c, args.Pod.Spec.SchedulerName)
	if err != nil {
		return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: err}
	}
	pod := e.cluster.ResourceNames().NewPod(args.Pod)
	c.subject = pod
	result := extenderv1.ExtenderPreemptionResult{}
	planned := false
	if e.gangs != nil {
		var preemption gang.Preemption
		preemption, planned = e.gangs.Preempt(pod)
		result.NodeNameToMetaVictims = victimsOf(preemption)
	}
	if !planned && len(e.claim(c, profile, pod)) == 0 { // whoever has room coming evicts nobody
		result.NodeNameToMetaVictims = e.preemptAlone(profile, pod, proposed(&args))
	}
	if len(result.NodeNameToMetaVictims) == 0 {
		c.outcome = outcomeUnschedulable
	}
	return e.encode(c, result)
}

// preemptAlone finds victims for a pod for itself on each of the nodes that are proposed.
func (e *Extender) preemptAlone(profile *predicates.VerdictStore, pod *cluster.Pod, proposed map[string]*extenderv1.MetaVictims) map[string]*extenderv1.MetaVictims {
	e.cluster.Release(pod.UID)
	snap := e.cluster.Snapshot()
	p := preemption{pod: pod, budgets: placement.NewBudgets(snap), judgement: profile.Profile.Judge(pod, snap)}
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

// proposed are the victims by node, in the one form that an answer has.
func proposed(args *extenderv1.ExtenderPreemptionArgs) map[string]*extenderv1.MetaVictims {
	nodes := map[string]*extenderv1.MetaVictims{}
	for name, victims := range args.NodeNameToMetaVictims {
		if victims != nil {
			nodes[name] = victims
		}
	}
	for name, victims := range args.NodeNameToVictims {
		if victims == nil {
			continue
		}
		meta := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
		for _, pod := range victims.Pods {
			if pod != nil {
				meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
			}
		}
		nodes[name] = meta
	}
	return nodes
}
