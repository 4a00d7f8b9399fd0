package core

import (
	"errors"

	"muster.dev/muster/cluster"
)

// Reasons for refusing all nodes. They are constant: a changing reason would have the scheduler try the pod
// again each time. Details are in [State.Report] and on the group.
const (
	ReasonUnknown  = "gang: the pod is not known yet"
	ReasonNoGroup  = "gang: its PodGroup does not exist"
	ReasonInvalid  = "gang: its PodGroup is not valid"
	ReasonSiblings = "gang: members are missing"
	ReasonNoPlace  = "gang: there is no place for as many members as must start together"
	ReasonNoRoom   = "gang: there is no place for another member"
	ReasonVictims  = "gang: pods are being evicted for it"
	ReasonHolding  = "gang: as many gangs of its namespace have places as may before they start"
)

// Reasons returns all of them.
func Reasons() []string {
	return []string{
		ReasonNoGroup, ReasonInvalid, ReasonSiblings, ReasonNoPlace, ReasonNoRoom, ReasonVictims, ReasonHolding, ReasonUnknown,
	}
}

// Why a held call ends without quorum. The scheduler shows the text as the reason of the
// failed binding.
var (
	ErrGone       = errors.New("gang: the pod is gone or being deleted")
	ErrRefused    = errors.New("gang: there is no place for as many members as must start together")
	ErrTimeout    = errors.New("gang: not enough members could be bound in time")
	ErrScheduler  = errors.New("gang: kube-scheduler does not put a member on any node where it has a place")
	ErrVictims    = errors.New("gang: pods that are to be evicted were not gone in time")
	ErrUnrecorded = errors.New("gang: the start of the gang could not be recorded in time")
	ErrNodeGone   = errors.New("gang: the node is gone")
	ErrPlaceLost  = errors.New("gang: others have taken the place of the pod")
	ErrUncounted  = errors.New("gang: the pod does not count on its place any more")
	ErrNoGroup    = errors.New("gang: the group is gone or not valid")
	ErrKept       = errors.New("gang: other members have yet to come; the pod keeps its place, and is to be bound again")
	ErrAskedAgain = errors.New("gang: the scheduler asked about the pod again")
	ErrStopped    = errors.New("gang: this replica of muster is stopping")
	ErrOutranked  = errors.New("gang: its places were needed by pods of higher priority")
)

// Decision says what filter is to answer about a pod.
type Decision struct {
	// Reason refuses all nodes, unless it is "".
	Reason string
	// Waits says that the pod is refused, and still counts on its place, if it has one.
	Waits bool
	// Member says that the pod is of a gang whose members have places: the caller is to
	// answer with one node, where the pod then counts, and to report it with Placed or
	// Refused. Until then the pod counts on its place, and is judged as if it did not.
	Member bool
	// Node is the place of the pod, "" when any will do.
	Node string
}

// Preemption names the pods to evict for a member of a gang.
type Preemption struct {
	// Node is the place of the member.
	Node string
	// Victims are the pods there that have to go and are not going yet, the most important
	// first.
	Victims []*cluster.Pod
	// Violations is how many of them a disruption budget protects.
	Violations int
}
