package status

import corev1 "k8s.io/api/core/v1"

// Reason is the reason of a condition or an event, in CamelCase.
type Reason string

// Reasons of the condition Scheduled, and of events about groups and their pods.
const (
	// Scheduled: minMember pods are bound.
	Scheduled Reason = "Scheduled"
	// MembersMissing: fewer than minMember pods exist.
	MembersMissing Reason = "MembersMissing"
	// Waiting: there is a place for minMember pods, and some of them are not there yet.
	Waiting Reason = "Waiting"
	// Unschedulable: there is no place for minMember pods.
	Unschedulable Reason = "Unschedulable"
	// TimedOut: too few pods came to their places in time, and all have lost them.
	TimedOut Reason = "TimedOut"
	// MembersFailed: pods have failed, and those left are fewer than minMember.
	MembersFailed Reason = "MembersFailed"
	// Preempted: the pod was evicted to make room for a gang.
	Preempted Reason = "Preempted"
	// PodGroupNotFound: the PodGroup that a pod names does not exist in its namespace.
	PodGroupNotFound Reason = "PodGroupNotFound"
	// PodGroupInvalid: a PodGroup, or what its pods say in its stead, does not make sense.
	PodGroupInvalid Reason = "PodGroupInvalid"
)

// eventType tells what is on its way from what somebody may have to look at.
func (r Reason) eventType() string {
	switch r {
	case Scheduled, MembersMissing, Waiting, Preempted:
		return corev1.EventTypeNormal
	case Unschedulable, TimedOut, MembersFailed, PodGroupNotFound, PodGroupInvalid:
	}
	return corev1.EventTypeWarning
}
