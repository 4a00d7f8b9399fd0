package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// preempt answers on which of the nodes the pod would fit once the victims that
// the scheduler proposes are gone. Victims are taken over as proposed: those nodes
// are left out where evicting them would help the scheduler's own predicates but
// not the profile's.
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
	pod, snap := e.cluster.ResourceNames().NewPod(args.Pod), e.cluster.Snapshot()
	fit := profile.Profile.Judge(pod, snap)

	result := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for name, victims := range proposed(&args) {
		node := snap.NodeByName(name)
		if node == nil || len(victims.Pods) == 0 {
			continue
		}
		freed := without(node, victims)
		fit.Suppose(freed)
		if fit.Verdict(freed) == predicates.Fits {
			result.NodeNameToMetaVictims[name] = victims
		}
		fit.Suppose(node)
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

func without(node *cluster.Node, victims *extenderv1.MetaVictims) *cluster.Node {
	for _, victim := range victims.Pods {
		if victim != nil {
			node = node.WithoutPod(types.UID(victim.UID))
		}
	}
	return node
}
