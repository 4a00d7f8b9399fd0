package planner

import "muster.dev/muster/cluster"

// Load is the load of pods on nodes besides their requests, such as their measured use. No predicate knows it:
// for the search it adds amounts of further resources, so that no node takes more than it bears after any step.
// A node that bears too much as it is takes no load, and may keep its own.
type Load struct {
	// Amounts is how many there are, at least one.
	Amounts int
	// Node is how much a node of the snapshot bears, at most MostLoad, and how much there is.
	Node func(node *cluster.Node) (bears, load []int64)
	// Pod is how much a pod is that is on a node, is about to come there or, when that is nil,
	// is nowhere. It puts as much on any other node.
	Pod func(pod *cluster.Pod, on *cluster.Node) []int64
}

// MostLoad is borne by a node that bears any load.
const MostLoad = 1 << 60

func (l *Load) amounts() int {
	if l == nil {
		return 0
	}
	return l.Amounts
}

// needs returns the needs of a pod that is on a node, is about to come there, or is nowhere.
func (r *reckoning) needs(pod *cluster.Pod, on *cluster.Node) amounts {
	a := r.amountsOf(&pod.Requests, 1)
	if r.load != nil {
		copy(a[r.plain():], r.load.Pod(pod, on))
	}
	return a
}

// offers returns the capacity of a node for pods, and how much of that is taken.
func (r *reckoning) offers(node *cluster.Node) (capacity, taken amounts) {
	capacity = r.amountsOf(&node.Allocatable, node.Allocatable.Pods)
	taken = r.amountsOf(&node.Requested, int64(len(node.Pods)))
	if r.load != nil {
		bears, load := r.load.Node(node)
		copy(capacity[r.plain():], bears)
		copy(taken[r.plain():], load)
	}
	return capacity, taken
}
