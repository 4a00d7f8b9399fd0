package placement

import "muster.dev/muster/cluster"

// Leftover is how much of a node's extended resources would be free with the pod on it:
// the sum over resources of the share that is left, 0 when it has none. Of nodes that are
// equally good the one with the least is taken, so that what is left stays together for
// pods that need many of one node, and nodes without go to pods that ask for none.
func Leftover(pod *cluster.Pod, node *cluster.Node) float64 {
	left := 0.0
	for i, offered := range node.Allocatable.Scalar {
		if offered > 0 {
			left += float64(offered-node.Requested.ScalarAt(i)-pod.Requests.ScalarAt(i)) / float64(offered)
		}
	}
	return left
}
