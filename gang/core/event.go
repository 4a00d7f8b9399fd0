package core

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/membership"
)

// Event is something that has happened. The types below are all that there are.
type Event interface{ apply(t *turn) }

// Events that the watch tells of.
type (
	// Seen is a pod as the watch shows it.
	Seen struct{ cluster.PodState }
	// Finished is a pod that has finished, or is gone after that. The view of the cluster may
	// show it running for a moment longer, or not show it any more already: it counts once all
	// the same.
	Finished struct{ finished.Pod }
	// SchedulerChanged says that another process of the scheduler leads, or that it was restarted.
	SchedulerChanged struct{}
	// Looked takes note of what is asked of all groups now.
	Looked struct{}
	// LookedAtPartly takes note of what is asked of groups with some members that wait and others that do not, where none was
	// noted yet: after a restart, nobody has asked about them.
	LookedAtPartly struct{}
	// ChangesDue asks which groups have changed since it was last asked, of their pods or of why they
	// wait. The answer is [Changed].
	ChangesDue struct{}
	// LookedAt takes note of the spec of a pod's group, and of the groups that start with it.
	LookedAt struct{ UID types.UID }
)

// Events that the scheduler causes. The pod is a member; of others the core knows nothing.
type (
	// Asked is a filter call about a member, and a number of nodes. The answer is [Decided].
	Asked struct {
		Pod   *cluster.Pod
		Nodes int
	}
	// Placed says that filter was answered with a node on which the pod counts now.
	Placed struct {
		UID  types.UID
		Node string
	}
	// Refused says that the scheduler was told of no node for a pod: its place is not among the nodes that the
	// scheduler asked about, or not good any more, and the pod fits none of the others.
	//
	// A scheduler that looks at a part of a large cluster may have missed the place: it asked about no fewer than
	// LeastSample nodes, that one was not among them, and the pod still fits there. A pod that is not nominated is then
	// steered to its place. Otherwise, unless the scheduler knew of the place by nomination, another one is looked for on
	// all nodes, and the pod is steered there.
	//
	// A scheduler that knew of the place may not have seen yet that it is free, and is asked to look again for a while
	// ([SchedulerLag]). Else the plan ends, unless the others may wait for this one.
	Refused struct {
		UID    types.UID
		Missed bool
	}
	// Preempts is a preempt call about a member. The answer is [Preempted].
	Preempts struct{ UID types.UID }
	// Binds is a bind call, for a node on which the pod counts. It goes on at once unless the
	// effects say otherwise.
	Binds struct {
		UID  types.UID
		Node string
	}
	// HungUp is a held call that nobody waits for any more.
	HungUp struct {
		UID  types.UID
		Hold HoldID
		Err  error
	}
	// Bound is the result of binding a pod that was let go.
	Bound struct {
		UID types.UID
		Err error
	}
)

// Events that time brings.
type (
	// Ticked ends what has taken too long, and keeps the others counted on their places.
	Ticked struct{}
	// PlannedAhead has a group planned before the scheduler asks about it.
	PlannedAhead struct{ Group membership.Key }
	// ConfirmDue has the members of a group let go whose room is kept, if it is time and their places are good.
	ConfirmDue struct{ Group membership.Key }
	// GatesDue lifts the gates of a group that have no reason any more.
	GatesDue struct{ Group membership.Key }
	// StrayGatesDue lifts gates of pods of no group.
	StrayGatesDue struct{}
	// Stopped ends held calls for good, except the calls of a start that is being recorded.
	Stopped struct{}
)

// Outranked says that a pod of no gang would go to nodes if gangs of a priority lower than its own had no places.
type Outranked struct {
	By       string
	Priority int32
	Nodes    Nodes
}

// Events that answer effects.
type (
	// Recorded is the result of recording a start.
	Recorded struct {
		Commit CommitID
		Err    error
	}
	// Lifting asks whether the gate of a pod is to be lifted still: by a [Write].
	Lifting struct{ UID types.UID }
	// GateLifted says what came of lifting a gate. Refused says that the pod itself was refused, by somebody's policy
	// or for what is in it: to try again soon is of no use.
	GateLifted struct {
		UID     types.UID
		Err     error
		Refused bool
	}
	// Nominating asks what is to be written to the status of a pod: a [Write], or nothing.
	Nominating struct{ UID types.UID }
	// NotNominated says that writing that has failed.
	NotNominated struct{ UID types.UID }
	// Waking asks whether a pod is to be woken: by a [Write].
	Waking struct{ UID types.UID }
	// NotWoken says that a pod could not be woken.
	NotWoken struct{ UID types.UID }
)
