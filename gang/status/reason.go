package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Reason is why a group waits, or that it does not: one of a closed list. Of several that hold, people are told the first one
// of the list. It is the reason of conditions and events, under its name.
type Reason int

// The reasons, by precedence: what somebody has to set right first, then what nobody is there for, then what the cluster has
// no room for, then what passes by itself.
const (
	// None: nothing is known, and the counts of pods speak.
	None Reason = iota
	// PodGroupInvalid: a PodGroup, or what its pods say in its stead, does not make sense.
	PodGroupInvalid
	// PodGroupNotFound: the PodGroup that a pod names does not exist in its namespace.
	PodGroupNotFound
	// MembersWithheld: members that minMember counts are made only once others have started, so that none ever does.
	MembersWithheld
	// MembersMissing: fewer than minMember pods exist.
	MembersMissing
	// MembersFailed: pods have failed, and those left are fewer than minMember.
	MembersFailed
	// NamespaceLimit: as many gangs of the namespace have places as may before they start.
	NamespaceLimit
	// Unschedulable: there is no place for minMember pods.
	Unschedulable
	// TimedOut: too few pods came to their places in time, and all have lost them.
	TimedOut
	// Evicting: there is a place for minMember pods once others have gone, which are being evicted.
	Evicting
	// Waiting: there is a place for minMember pods, and some of them are not there yet.
	Waiting
	// Scheduled: minMember pods are bound.
	Scheduled
	// Preempted: the pod was evicted to make room for a gang.
	Preempted
	// MembersDisagree: members say different numbers of how many must start together.
	MembersDisagree
	// MarkIgnored: a mark on a pod names a gang, or says something of one, and has no effect.
	MarkIgnored
	// RoomBooked: room is booked for the group from a time on.
	RoomBooked
	// NoRoomBooked: the group has waited for long enough, and no room can be booked for it.
	NoRoomBooked
	reasons
)

// Reasons returns all of them but None, by precedence.
func Reasons() []Reason {
	var all []Reason
	for r := None + 1; r < reasons; r++ {
		all = append(all, r)
	}
	return all
}

// String returns the name, in CamelCase as the API has it; "" for None.
func (r Reason) String() string {
	return [reasons]string{
		None: "", PodGroupInvalid: "PodGroupInvalid", PodGroupNotFound: "PodGroupNotFound",
		MembersWithheld: "MembersWithheld", MembersMissing: "MembersMissing",
		MembersFailed: "MembersFailed", NamespaceLimit: "NamespaceLimit", Unschedulable: "Unschedulable", TimedOut: "TimedOut",
		Evicting: "Evicting", Waiting: "Waiting", Scheduled: "Scheduled", Preempted: "Preempted",
		MembersDisagree: "MembersDisagree", MarkIgnored: "MarkIgnored", RoomBooked: "RoomBooked", NoRoomBooked: "NoRoomBooked",
	}[r]
}

// beside reports whether the reason says nothing of what a group waits for, so that it is told beside those.
func (r Reason) beside() bool { return r > Scheduled }

// patience returns how long the reason has to last before anybody is told of it: most that pass by themselves have by then.
func (r Reason) patience() time.Duration {
	if r == MembersMissing || r == Evicting || r == Waiting {
		return patience
	}
	return 0
}

// eventType tells what is on its way from what somebody may have to look at.
func (r Reason) eventType() string {
	switch r {
	case MembersMissing, Evicting, Waiting, Scheduled, Preempted, RoomBooked, NoRoomBooked:
		return corev1.EventTypeNormal
	case None, PodGroupInvalid, PodGroupNotFound, MembersWithheld, MembersFailed, NamespaceLimit, Unschedulable, TimedOut,
		MembersDisagree, MarkIgnored:
	}
	return corev1.EventTypeWarning
}
