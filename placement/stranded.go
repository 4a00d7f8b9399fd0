package placement

import "muster.dev/muster/cluster"

// Stranded is how much of the extended resources that a pod asks for would be left on a
// node beyond what is left of both its CPU and its memory, were the pod on it: the sum over
// these resources of the shares of what the node offers. It is 0 for a pod that asks for
// none.
//
// GPUs on a node that is out of CPU or memory are of no use to anybody (Weng et al., "Beware
// of Fragmentation", USENIX ATC 2023, which counts them by the pods that usually come; here
// a node's own proportions stand for these). So of nodes that are equally good the one with
// the least stranded is taken.
func Stranded(pod *cluster.Pod, node *cluster.Node) float64 {
	stranded := 0.0
	for i, asked := range pod.Requests.Scalar {
		if asked == 0 {
			continue
		}
		cpu := left(node.Allocatable.MilliCPU, node.Requested.MilliCPU, pod.Requests.MilliCPU)
		memory := left(node.Allocatable.Memory, node.Requested.Memory, pod.Requests.Memory)
		extended := left(node.Allocatable.ScalarAt(i), node.Requested.ScalarAt(i), asked)
		stranded += max(0, extended-min(cpu, memory))
	}
	return stranded
}

// left is the share of an offer that is left, 0 when there is none of it.
func left(offered, requested, asked int64) float64 {
	free := offered - requested - asked
	if free <= 0 {
		return 0
	}
	return float64(free) / float64(offered)
}
