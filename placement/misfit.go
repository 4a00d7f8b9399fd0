package placement

import (
	"slices"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
)

// Misfit returns how badly a pod that asks for extended resources fits a node, by what would be
// left there with the pod on it, in shares of what the node offers: how much of these
// resources beyond what is left of both CPU and memory, less the mean of what is left of
// these two. Of nodes that are equally good the one with the least is taken. It is 0 for
// any other pod, which may go to any of them.
//
// GPUs on a node that is out of CPU or memory are stranded: no pod can have them (Weng et al., "Beware of
// Fragmentation", USENIX ATC 2023, which counts them by the pods that usually come; here the proportions of the
// node stand for these). Where none would be stranded, the better node has more CPU and memory to go with the
// GPUs that are left.
func Misfit(pod *cluster.Pod, node *cluster.Node) float64 {
	if !slices.ContainsFunc(pod.Requests.Scalars, func(asked cluster.Scalar) bool { return asked.Amount > 0 }) {
		return 0
	}
	cpu := left(node.Allocatable.MilliCPU, node.Requested.MilliCPU, pod.Requests.MilliCPU)
	memory := left(node.Allocatable.Memory, node.Requested.Memory, pod.Requests.Memory)
	misfit := -(cpu + memory) / 2
	for _, asked := range pod.Requests.Scalars {
		if asked.Amount > 0 {
			misfit += max(0, left(node.Allocatable.Scalar(asked.Name), node.Requested.Scalar(asked.Name), asked.Amount)-min(cpu, memory))
		}
	}
	return misfit
}

// left returns the share of an offer that is left, 0 when nothing is.
func left(offered, requested, asked int64) float64 {
	free := quantity.Difference(offered-requested, asked)
	if free <= 0 {
		return 0
	}
	return float64(free) / float64(offered)
}
