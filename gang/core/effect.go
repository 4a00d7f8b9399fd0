package core

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
)

// Effect is a consequence of an event, which is carried out once the event is applied. Effects are carried out in their
// order. The types below are all that exist.
type Effect interface{ effect() }

// HoldID numbers the bind calls that wait; 0 is none.
type HoldID uint64

// CommitID numbers the starts that are being recorded; 0 is none.
type CommitID uint64

// Effects on bind calls.
type (
	// BeginHold has the bind call that was asked about wait, or wait as well.
	BeginHold struct{ Hold HoldID }
	// EndHold lets the calls of a hold go on, or fail with an error.
	EndHold struct {
		Hold HoldID
		Err  error
		Held time.Duration
	}
	// RefuseBind fails the bind call that was asked about.
	RefuseBind struct{ Err error }
)

// Effects on objects.
type (
	// WriteRecords has the records of a start be written until a time, without holding up anything
	// else. [Recorded] is the answer, whenever it comes.
	WriteRecords struct {
		Commit  CommitID
		Records []ToRecord
		Until   time.Time
	}
	// NoteBound has the record of a gang say until a time that its members are bound. Nothing waits for it.
	NoteBound struct {
		ToRecord
		Until time.Time
	}
	// Nominate has what the status of a pod says be brought in line: what is to be written is
	// found out by [Nominating] when its turn comes.
	Nominate struct{ UID types.UID }
	// Wake has the scheduler try a pod again: see [Waking].
	Wake struct{ UID types.UID }
	// LiftGate has the gate of a pod lifted: see [Lifting]. [GateLifted] is the answer.
	LiftGate struct{ UID types.UID }
	// Evict has a pod deleted that a group waits for: see [State.ToEvict].
	Evict struct {
		Group membership.Key
		Pod   *cluster.Pod
	}
	// Write describes a write to the pod of a [Nominating], [Waking] or [Lifting]. Without it, there is nothing
	// to write.
	Write struct {
		Pod  *cluster.Pod
		Node string // to nominate it to, "" to take that back
	}
)

// ToRecord is a record to be written on a PodGroup as the members were counted for it.
type ToRecord struct {
	Group    membership.Key
	PodGroup *unstructured.Unstructured
	Record   record.Record // the Epoch is to be filled in
}

// Effects that are answers to the caller.
type (
	// Decided is the answer to [Asked], and to [PlannedAhead] if a plan was made or not possible. It is good until
	// the next event is applied, and has a pointer, so that filter calls allocate nothing for it.
	Decided struct{ Decision }
	// Preempted is the answer to [Preempts].
	Preempted struct {
		Preemption
		// Alone says that the gang has started: the scheduler may evict others for the pod, as for any other.
		Alone bool
	}
	// Changed is the answer to [ChangesDue].
	Changed struct{ Groups []membership.Key }
)

// Effects that people see.
type (
	// Denied counts a denial, by the error with which held calls end.
	Denied struct{ Err error }
	// Quorum counts a gang that has come together, so long after its plan.
	Quorum struct{ Took time.Duration }
	// Clearing counts the pods that have to go for a gang.
	Clearing struct {
		Group membership.Key
		Pods  int
	}
	// TakenAlong counts the pods that have to go as well, because the victims of a gang have left theirs with
	// too few.
	TakenAlong struct {
		Group membership.Key // the gang that the others went for
		Pods  int
	}
)

func (BeginHold) effect()    {}
func (EndHold) effect()      {}
func (RefuseBind) effect()   {}
func (WriteRecords) effect() {}
func (NoteBound) effect()    {}
func (Nominate) effect()     {}
func (Wake) effect()         {}
func (LiftGate) effect()     {}
func (Evict) effect()        {}
func (Write) effect()        {}
func (*Decided) effect()     {}
func (Preempted) effect()    {}
func (Changed) effect()      {}
func (Denied) effect()       {}
func (Quorum) effect()       {}
func (Clearing) effect()     {}
func (TakenAlong) effect()   {}

// Reasons for refusing all nodes. They are constant: a changing reason would have the scheduler try the pod
// again each time. Details are in [State.Report] and on the group.
const (
	ReasonUnknown  = "gang: the pod is not known yet"
	ReasonNoGroup  = "gang: its PodGroup does not exist"
	ReasonInvalid  = "gang: its PodGroup is not valid"
	ReasonSiblings = "gang: members are missing"
	ReasonLater    = "gang: other gangs of its tree of groups start before it"
	ReasonNoPlace  = "gang: there is no place for as many members as must start together"
	ReasonNoRoom   = "gang: there is no place for another member"
	ReasonVictims  = "gang: pods are being evicted for it"
	ReasonHolding  = "gang: as many gangs of its namespace have places as may before they start"
)

// Reasons returns all of them.
func Reasons() []string {
	return []string{
		ReasonNoGroup, ReasonInvalid, ReasonSiblings, ReasonLater, ReasonNoPlace, ReasonNoRoom, ReasonVictims, ReasonHolding, ReasonUnknown,
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
	// Only says that no other node will do: it has to be near the other members.
	Only bool
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
