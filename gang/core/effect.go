package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/predicates"
)

// Effect is a consequence of an event. Effects are carried out in their order. The types below are all that
// exist.
type Effect interface{ effect() }

// HoldID numbers the bind calls that wait; 0 is none.
type HoldID uint64

// CommitID numbers the starts that are being recorded; 0 is none.
type CommitID uint64

// Effects on the view of the cluster.
type (
	// Release has a pod not count on its place any more.
	Release struct{ UID types.UID }
	// Renew has a pod count on its place for longer. [Uncounted] is the answer if it does not count.
	Renew struct{ UID types.UID }
)

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

// Effects that ask for a search. Each is answered by an event with the same Attempt, before any
// other event is applied, and is the last effect of its event.
type (
	// FindPlaces asks for places for members, and has those members count there: [PlacesFound],
	// [NoPlaces] or [NodesChanged].
	FindPlaces struct {
		Attempt *Attempt
		Search
		// Weigh has it found out as well whether the places are contested: all pods that wait are looked at.
		Weigh bool
		// Claim has it found out where members would go, if there is no place, once nodes are opened that are cordoned.
		Claim bool
	}
	// FindWithout asks on which nodes members would go if others had no places: [FoundWithout].
	FindWithout struct {
		Attempt *Attempt
		Search
		Without []*cluster.Pod
		On      []string // the nodes of those
	}
	// FindVictims asks for places for members if others were evicted, and has those members count
	// there: [VictimsFound], [NoVictims] or [NodesChanged].
	FindVictims struct {
		Attempt *Attempt
		Search
		Terms *Terms
	}
	// FindLost asks which members could not come to the places on which they count, if they did not count there:
	// [PlacesProven].
	FindLost struct {
		Attempt *Attempt
		Store   *predicates.VerdictStore
		Pods    []*cluster.Pod
	}
	// Proceed asks for [Proceeding], once the effects before it are carried out.
	Proceed struct{ Attempt *Attempt }
)

// Search describes the places that are sought.
type Search struct {
	Store *predicates.VerdictStore
	Parts []Wanted
}

// Wanted describes the places that the members of one group need.
type Wanted struct {
	Key     membership.Key
	Pods    []*cluster.Pod // in their order
	AtLeast int
	// Resources is the least amount that all nodes together must have free, if AtLeast is not 0, counting as
	// free what the Own pods take. It is nil for no condition.
	Resources corev1.ResourceList
	Own       []*cluster.Pod
}

// Effects that are answers to the caller.
type (
	// Decided is the answer to [Asked], and to [PlannedAhead] if a plan was made or not possible. It is good until
	// the next event is applied, and has a pointer, so that filter calls allocate nothing for it.
	Decided struct{ Decision }
	// Preempted is the answer to [Preempts].
	Preempted struct {
		Preemption
		Starting bool // else others may be evicted for the pod alone
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

// Planned is a place that a member has been given.
type Planned struct {
	UID  types.UID
	Node string
}

// Nodes are names of nodes.
type Nodes = sets.Set[string]

func (Release) effect()      {}
func (Renew) effect()        {}
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
func (FindPlaces) effect()   {}
func (FindWithout) effect()  {}
func (FindVictims) effect()  {}
func (FindLost) effect()     {}
func (Proceed) effect()      {}
func (*Decided) effect()     {}
func (Preempted) effect()    {}
func (Changed) effect()      {}
func (Denied) effect()       {}
func (Quorum) effect()       {}
func (Clearing) effect()     {}
func (TakenAlong) effect()   {}
