package policy

import (
	"cmp"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// Situation is what policies look at.
type Situation struct {
	// Problem is the cluster, and what may be done about it.
	Problem *planner.Problem
	// Waiting are the pending pods that no room is coming for, in the order of their names.
	Waiting []*cluster.Pod
	// Pending is how many pods have no node, those included that room is coming for.
	Pending int
}

// Of is the situation of a cluster, by the rules of a problem. Pods that are nominated to a
// node have room coming there, which the problem holds for them.
func Of(c *cluster.Cluster, problem planner.Problem) Situation {
	problem.Snapshot = c.Snapshot()
	s := Situation{Problem: &problem}
	stop := c.FollowPending(func(event cluster.PodEvent) {
		if event.Pod == nil {
			return
		}
		s.Pending++
		if node := problem.Snapshot.NodeByName(event.Pod.Status.NominatedNodeName); node != nil {
			problem.Held = append(problem.Held, planner.Hold{Pod: event.Pod, Node: node.Index})
		} else {
			s.Waiting = append(s.Waiting, event.Pod)
		}
	})
	stop()
	slices.SortFunc(s.Waiting, byName)
	slices.SortFunc(problem.Held, func(a, b planner.Hold) int { return byName(a.Pod, b.Pod) })
	return s
}

func byName(a, b *cluster.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
