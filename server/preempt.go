package server

import (
	"encoding/json"
	"errors"
	"net/http"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/placement"
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
	c.args.Pod.Namespace, c.args.Pod.Name = args.Pod.Namespace, args.Pod.Name
	profile, err := e.profile(c, args.Pod.Spec.SchedulerName)
	if err != nil {
		return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: err}
	}
	e.cluster.Release(args.Pod.UID)
	snap := e.cluster.Snapshot()
	p := preemption{pod: snap.ResourceNames.NewPod(args.Pod), budgets: placement.NewBudgets(snap)}
	p.judgement = profile.Profile.Judge(p.pod, snap)

	result := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for name, victims := range proposed(&args) {
		node := snap.NodeByName(name)
		if node == nil || len(victims.Pods) == 0 {
			continue
		}
		if enough := p.victims(node, e.planned(node.Pods), victims); enough != nil {
			result.NodeNameToMetaVictims[name] = enough
		}
	}
	if e.gangs != nil {
		e.spareGangs(p.pod, result.NodeNameToMetaVictims)
	}
	if len(result.NodeNameToMetaVictims) == 0 {
		c.outcome = outcomeUnschedulable
	}
	return e.encode(c, result)
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
