package policy

import (
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// Situation is the situation that policies look at.
type Situation struct {
	// Problem is the cluster, and what may be done about it.
	Problem *planner.Problem
	// Waiting are the pending pods that no room is coming for, in the order of their names.
	Waiting []*cluster.Pod
	// Pending is how many pods have no node, those included that room is coming for.
	Pending int
}

// Of returns the situation of a cluster, by the rules of a problem. Pods that are nominated to a
// node have room coming there, which the problem holds for them.
func Of(c *cluster.Cluster, problem planner.Problem) Situation {
	problem.Snapshot = c.Snapshot()
	s := Situation{Problem: &problem}
	for _, pod := range planner.Waiting(c) {
		s.Pending++
		if node := problem.Snapshot.NodeByName(pod.Status.NominatedNodeName); node != nil {
			problem.Reserved = append(problem.Reserved, planner.Reservation{Pod: pod, Node: node.Index})
		} else {
			s.Waiting = append(s.Waiting, pod)
		}
	}
	return s
}
