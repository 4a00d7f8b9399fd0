package planner

import (
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
)

// Figures say how a cluster is laid out.
type Figures struct {
	// EmptyNodes have no pods except the ones that go with the node.
	EmptyNodes int
	// Fragmentation says of CPU, memory and each other resource that pods ask for how much of
	// a node is taken, on average, where a unit of it is free: 0 when all that is free is on
	// empty nodes, and close to 1 when it is the rest of full ones.
	Fragmentation map[corev1.ResourceName]float64
}

// Figures returns the figures of the cluster as it is, and once a plan has been carried out.
func (p *Problem) Figures(plan *Plan) (before, after Figures) {
	world := scenario.New(p.Snapshot)
	before = figuresOf(world)
	for _, step := range plan.Steps {
		world.Take(step.Pod, step.From.Index)
		world.Put(step.Replacement, step.To.Index)
	}
	for _, placement := range plan.Placements {
		world.Put(placement.Pod, placement.Node.Index)
	}
	return before, figuresOf(world)
}

func figuresOf(world *scenario.Scenario) Figures {
	f := Figures{Fragmentation: map[corev1.ResourceName]float64{}}
	free, taken, asked := map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}, map[corev1.ResourceName]bool{}
	add := func(name corev1.ResourceName, offered, requested int64) {
		asked[name] = asked[name] || requested > 0
		if left := offered - requested; left > 0 {
			free[name] += float64(left)
			taken[name] += float64(left) * float64(requested) / float64(offered)
		}
	}
	snap := world.Snapshot()
	for before := range snap.Nodes() {
		node := world.Node(before.Index)
		if IsEmpty(node) {
			f.EmptyNodes++
		}
		offered, requested := &node.Allocatable, &node.Requested
		add(corev1.ResourceCPU, offered.MilliCPU, requested.MilliCPU)
		add(corev1.ResourceMemory, offered.Memory, requested.Memory)
		for _, scalar := range offered.Scalars {
			add(scalar.Name.Value(), scalar.Amount, requested.Scalar(scalar.Name))
		}
	}
	for name := range free {
		if asked[name] {
			f.Fragmentation[name] = taken[name] / free[name]
		}
	}
	return f
}

// IsEmpty reports whether a node has no pods except the ones that go with it.
func IsEmpty(node *cluster.Node) bool {
	for _, pod := range node.Pods {
		if !GoesWithNode(pod) {
			return false
		}
	}
	return true
}

// GoesWithNode reports whether a pod is on a node as long as there is that node, and nowhere else.
func GoesWithNode(pod *cluster.Pod) bool { return isMirror(pod) || isOfDaemonSet(pod) }
