package nomination

import (
	"cmp"
	"container/heap"
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// stage is how far a pod is on its way to a node.
type stage int

const (
	waiting     stage = iota // in the backlog
	resting                  // to be put into the backlog again, later
	planning                 // in the batch that is being planned
	held                     // counts on its node; the nomination is to be written
	writing                  // and is being written
	standing                 // and is written
	taken                    // the scheduler has taken the pod up
	withdrawing              // the nomination is to be taken back
	aside                    // left to the scheduler
	stages
)

func (s stage) String() string {
	return [stages]string{"waiting", "resting", "planning", "held", "writing", "standing", "taken", "withdrawing", "aside"}[s]
}

// holds reports whether the pod counts on its node on behalf of the Nominator.
func (s stage) holds() bool { return s == held || s == writing || s == standing }

// nominee is a pending pod.
type nominee struct {
	pod     *cluster.Pod             // as the watch last showed it
	store   *predicates.VerdictStore // nil when its profile nominates no more
	arrived uint64                   // in the order of the watch
	at      int                      // in the backlog

	stage stage
	since time.Time // of the stage

	node    string       // the one it is planned for, or was last
	decided *cluster.Pod // the state of the pod when that was decided
	open    bool         // the nomination to that node has not ended
	posted  bool         // a write is in the queue
	sending bool         // a write is under way
	// mine is the node that a write of ours put into the status, or may have put there,
	// "" once the watch has shown otherwise.
	mine    string
	written time.Time // when that was

	attempts  int      // nominations so far
	fruitless int      // plans in a row without a place
	jam       jam      // what was in the way of the last one
	refused   []string // nodes to which nominations failed
	until     time.Time
	gate      gate
}

// nominated returns the node in the pod's status.
func (p *nominee) nominated() string { return p.pod.Status.NominatedNodeName }

// tried reports whether the scheduler has once found no place for the pod. It may be waiting for
// an event since, so that nothing is sure to come of a nomination. Other pods are in the
// scheduler's active queue and will be taken up, once they are not gated.
func (p *nominee) tried() bool { return p.pod.Tried() }

// backlog is the pods that wait, in the order in which the scheduler takes them:
// priority, then time (PrioritySort).
type backlog []*nominee

func (b *backlog) add(p *nominee) { heap.Push(b, p) }

func (b *backlog) remove(p *nominee) { heap.Remove(b, p.at) }

func (b backlog) Len() int { return len(b) }

func (b backlog) Less(i, j int) bool { return before(b[i], b[j]) < 0 }

// before compares two pods by the order of the backlog.
func before(p, q *nominee) int {
	return cmp.Or(
		cmp.Compare(priority(q.pod), priority(p.pod)),
		p.pod.CreationTimestamp.Compare(q.pod.CreationTimestamp.Time),
		cmp.Compare(p.arrived, q.arrived),
	)
}

func priority(pod *cluster.Pod) int32 { return corev1helpers.PodPriority(pod.Pod) }

func (b backlog) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].at, b[j].at = i, j
}

// Push implements [heap.Interface].
func (b *backlog) Push(x any) {
	p := x.(*nominee)
	p.at = len(*b)
	*b = append(*b, p)
}

// Pop implements [heap.Interface].
func (b *backlog) Pop() any {
	last := len(*b) - 1
	p := (*b)[last]
	(*b)[last] = nil
	*b = (*b)[:last]
	return p
}
