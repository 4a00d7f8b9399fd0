package predicates

import "muster.dev/muster/cluster"

// MaxScore is the best that a score can say of a node; the worst is 0.
const MaxScore = 100

// Score is one reason to prefer a node. Implementations are immutable and safe
// for concurrent use.
type Score interface {
	// Name is the plugin's name in kube-scheduler.
	Name() string
	// Aspects are the aspects of the cluster that For and its Rating read.
	Aspects() cluster.Aspect
	// For prepares the score for a pod.
	For(pod *cluster.Pod, snap *cluster.Snapshot) Rating
}

// Rating is a score prepared for a pod: one of its fields is set, or none when all
// nodes are alike to the pod.
type Rating struct {
	// Alone rates a node for itself, 0 to MaxScore.
	Alone func(node *cluster.Node) int64
	// Among rates nodes by comparing them with each other.
	Among Comparison
}

// Comparison rates a node among others: a node that is good in poor company may be bad in better. It keeps a
// digest of all nodes, compared or not. It may be [Selective]. It belongs to one goroutine at a time.
type Comparison interface {
	Digest
	// Rate sets ratings[i], 0 to MaxScore, to how well the node of index nodes[i] suits
	// among them. Every index is one of the snapshot of the last Update. A node stands
	// for sizes[i] nodes of its group, or for itself when sizes is nil.
	Rate(nodes, sizes []int32, ratings []int64)
	// Group is the same for nodes that are rated alike among any nodes. The group of a node changes only with
	// the node itself.
	Group(index int32) uint64
}
