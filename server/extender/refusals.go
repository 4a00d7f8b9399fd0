package extender

import "k8s.io/apimachinery/pkg/types"

// Refusals look again at pods that filter has refused, as a [muster.dev/muster/placement/requeue.Requeuer] does.
type Refusals interface {
	// Refused says that a pod fitted none of the nodes that kube-scheduler asked about, as the cluster was at a
	// generation or later. The watch may not show it yet, and there may be no such pod.
	Refused(uid types.UID, generation uint64)
	// Postponed says that a pod may evict nobody on a node, as the cluster was at a generation or later, but will when
	// something is freed.
	Postponed(uid types.UID, node string, generation uint64)
}
