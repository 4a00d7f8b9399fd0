package nomination

import (
	"cmp"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// note keeps which pods are nominated, by whomever: the scheduler takes their room as
// taken when it tries pods of lower or equal priority (addNominatedPods in
// pkg/scheduler/framework/runtime/framework.go).
func (n *Nominator) note(event cluster.PodEvent) {
	if event.Pod != nil && event.Pod.Status.NominatedNodeName != "" {
		n.nominated[event.UID] = event.Pod
	} else {
		delete(n.nominated, event.UID)
	}
}

// expected are the nominated pods that do not count on a node, the most important first.
func (n *Nominator) expected() []*cluster.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var pods []*cluster.Pod
	for uid, pod := range n.nominated {
		if p := n.nominees[uid]; p != nil && p.stage.holds() || n.cluster.Assumed(uid) != "" {
			continue
		}
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// makeRoom puts on their nodes those of the expected pods that the next pod of a plan must
// make room for, and returns the others.
func makeRoom(plan *placement.Plan, expected []*cluster.Pod, next *cluster.Pod) []*cluster.Pod {
	for len(expected) > 0 && priority(expected[0]) >= priority(next) {
		if node := plan.Snapshot().NodeByName(expected[0].Status.NominatedNodeName); node != nil {
			plan.Put(expected[0], node.Index)
		}
		expected = expected[1:]
	}
	return expected
}
