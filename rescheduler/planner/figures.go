package planner

import (
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// Figures say how a cluster is laid out.
type Figures struct {
	// EmptyNodes have no pods but those that go with the node.
	EmptyNodes int
	// Fragmentation says of CPU, memory and each other resource that pods ask for how much of
	// a node is taken, on average, where a unit of it is free: 0 when all that is free is on
	// empty nodes, and close to 1 when it is the rest of full ones.
	Fragmentation map[corev1.ResourceName]float64
}

// Figures are those of the cluster as it is, and once a plan has been carried out.
func (p *Problem) Figures(plan *Plan) (before, after Figures) {
	w := newWorld(p.Snapshot)
	before = w.figures()
	for _, step := range plan.Steps {
		w.take(step.Pod, step.From.Index)
		w.put(step.Replacement, step.To.Index)
	}
	for _, placement := range plan.Placements {
		w.put(placement.Pod, placement.Node.Index)
	}
	return before, w.figures()
}

func (w *world) figures() Figures {
	f := Figures{Fragmentation: map[corev1.ResourceName]float64{}}
	free, taken, asked := map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}, map[corev1.ResourceName]bool{}
	add := func(name corev1.ResourceName, offered, requested int64) {
		asked[name] = asked[name] || requested > 0
		if left := offered - requested; left > 0 {
			free[name] += float64(left)
			taken[name] += float64(left) * float64(requested) / float64(offered)
		}
	}
	for before := range w.snap.Nodes() {
		node := w.node(before.Index)
		if IsEmpty(node) {
			f.EmptyNodes++
		}
		offered, requested := &node.Allocatable, &node.Requested
		add(corev1.ResourceCPU, offered.MilliCPU, requested.MilliCPU)
		add(corev1.ResourceMemory, offered.Memory, requested.Memory)
		for i := range offered.Scalar {
			add(w.snap.ResourceNames.Name(i), offered.Scalar[i], requested.ScalarAt(i))
		}
	}
	for name := range free {
		if asked[name] {
			f.Fragmentation[name] = taken[name] / free[name]
		}
	}
	return f
}

// IsEmpty says that there is nothing on a node but pods that go with it.
func IsEmpty(node *cluster.Node) bool {
	for _, pod := range node.Pods {
		if !GoesWithNode(pod) {
			return false
		}
	}
	return true
}

// GoesWithNode says that a pod is on a node as long as there is that node, and nowhere else.
func GoesWithNode(pod *cluster.Pod) bool { return isMirror(pod) || isOfDaemonSet(pod) }
