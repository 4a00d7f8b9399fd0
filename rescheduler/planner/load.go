package planner

import "muster.dev/muster/cluster"

// Load is what pods put on nodes besides what they request, such as what they are measured to
// use. No predicate knows it: to the search it is amounts of further resources, so that no
// node takes more than it bears after any step. A node that bears too much as it is takes
// no load, and may keep what it has.
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

// dims is how many amounts there are of a pod or a node in a problem.
func (p *Problem) dims() int { return p.plain() + p.Load.amounts() }

// plain is how many of them are of resources that pods request. The others are of load.
func (p *Problem) plain() int { return plainResources + p.Snapshot.ResourceNames.Len() }

func (l *Load) amounts() int {
	if l == nil {
		return 0
	}
	return l.Amounts
}

// needs are what a pod needs that is on a node, is about to come there, or is nowhere.
func (p *Problem) needs(pod *cluster.Pod, on *cluster.Node) amounts {
	a := amountsOf(&pod.Requests, 1, p.dims())
	if p.Load != nil {
		copy(a[p.plain():], p.Load.Pod(pod, on))
	}
	return a
}

// offers is what a node has for pods, and what of that is taken.
func (p *Problem) offers(node *cluster.Node) (capacity, taken amounts) {
	capacity = amountsOf(&node.Allocatable, node.Allocatable.Pods, p.dims())
	taken = amountsOf(&node.Requested, int64(len(node.Pods)), p.dims())
	if p.Load != nil {
		bears, load := p.Load.Node(node)
		copy(capacity[p.plain():], bears)
		copy(taken[p.plain():], load)
	}
	return capacity, taken
}
