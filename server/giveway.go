package server

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// makeWay frees a place for a pod that fits no candidate, if all that is in the way are plans
// of lower priority. kube-scheduler does not count those either (addNominatedPods in
// pkg/scheduler/framework/runtime/framework.go): it would evict pods in vain. It says
// whether to look again.
func (e *Extender) makeWay(c *call, profile *predicates.VerdictStore, pod *cluster.Pod) bool {
	if e.gangs != nil && e.gangs.GiveWay(pod, profile) {
		return true
	}
	if e.nominator == nil {
		return false
	}
	held := e.nominator.HeldBelow(corev1helpers.PodPriority(pod.Pod))
	if len(held) == 0 {
		return false
	}
	snap := e.cluster.Snapshot()
	judgement := profile.Profile.Judge(pod, snap)
	var fewest []types.UID
	for _, index := range c.candidates.in(snap) {
		node := snap.Node(index)
		if node == nil || len(held[node.Name]) == 0 || fewest != nil && len(held[node.Name]) >= len(fewest) {
			continue
		}
		freed := node
		for _, uid := range held[node.Name] {
			freed = freed.WithoutPod(uid)
		}
		judgement.Suppose(freed)
		if judgement.Verdict(freed) == predicates.Fits {
			fewest = held[node.Name]
		}
		judgement.Suppose(node)
	}
	e.nominator.Yield(fewest)
	return fewest != nil
}

// planned are the pods on nodes that kube-scheduler does not have there yet: they only count
// there since they were planned ahead of it.
func (e *Extender) planned(pods []*cluster.Pod) sets.Set[types.UID] {
	planned := sets.New[types.UID]()
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && (e.nominator != nil && e.nominator.Holds(pod.UID) || e.gangs != nil && e.gangs.Planned(pod.UID)) {
			planned.Insert(pod.UID)
		}
	}
	return planned
}
