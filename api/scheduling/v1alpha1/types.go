package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodGroup is a group of pods that start together or not at all.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={pg,pgs},categories={gangs}
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=muster"
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, the PodGroup of kubernetes-sigs/scheduler-plugins with status.conditions"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="How far the group has come."
// +kubebuilder:printcolumn:name="Scheduled",type=integer,JSONPath=`.status.scheduled`,description="How many pods are bound or have succeeded."
// +kubebuilder:printcolumn:name="MinMember",type=integer,JSONPath=`.spec.minMember`,description="How many pods start together, at least."
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].reason`,description="Why it waits."
// +kubebuilder:printcolumn:name="Running",type=integer,JSONPath=`.status.running`,description="How many pods run."
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.succeeded`,description="How many pods have succeeded."
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`,description="How many pods have failed."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="When the group was created."
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Scheduled")].message`,description="The reason in words."
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is asked for.
	//
	// +optional
	Spec PodGroupSpec `json:"spec,omitempty"`
	// What has come of it. Written by muster.
	//
	// +optional
	Status PodGroupStatus `json:"status,omitempty"`
}

// PodGroupSpec says when a group may start.
type PodGroupSpec struct {
	// How many pods have to have a place before any of them starts.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MinMember int32 `json:"minMember,omitempty"`
	// What these pods need together. The group is not tried while the whole cluster has
	// less.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self) <= 64",message="must have at most 64 items"
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
	// How long pods that have a place wait for the others, in seconds. The scheduler decides
	// when it is unset or 0, and may wait for less.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// PodGroupStatus says how far a group has come. The counts are of its pods, which are
// in its own namespace.
type PodGroupStatus struct {
	// Pending, PreScheduling, Scheduling, Scheduled, Running, Finished or Failed.
	//
	// +optional
	Phase PodGroupPhase `json:"phase,omitempty"`
	// The workloads that own the pods, as namespace/name, separated by commas.
	//
	// +optional
	OccupiedBy string `json:"occupiedBy,omitempty"`
	// How many pods are bound to a node or have succeeded.
	//
	// +optional
	Scheduled int32 `json:"scheduled,omitempty"`
	// How many pods run.
	//
	// +optional
	Running int32 `json:"running,omitempty"`
	// How many pods have succeeded.
	//
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// How many pods have failed.
	//
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// When the first of the pods was given a place.
	//
	// +optional
	ScheduleStartTime *metav1.Time `json:"scheduleStartTime,omitempty"`
	// Scheduled says whether minMember pods are bound and, if they are not, why. Satisfied says whether minMember pods are
	// bound, or have succeeded, and none of these is being deleted.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PodGroupPhase is how far a group has come.
type PodGroupPhase string

// The phases of a group. The conditions are tried from the last one to the first.
const (
	// PodGroupPending: fewer than minMember pods exist.
	PodGroupPending PodGroupPhase = "Pending"
	// PodGroupPreScheduling: minMember pods exist, and none has a place.
	PodGroupPreScheduling PodGroupPhase = "PreScheduling"
	// PodGroupScheduling: some pods are bound, or held until the others have a place.
	PodGroupScheduling PodGroupPhase = "Scheduling"
	// PodGroupScheduled: minMember pods are bound.
	PodGroupScheduled PodGroupPhase = "Scheduled"
	// PodGroupRunning: minMember pods run or have succeeded.
	PodGroupRunning PodGroupPhase = "Running"
	// PodGroupFailed: of minMember pods that have started, some have failed. It ends when
	// that is no longer so.
	PodGroupFailed PodGroupPhase = "Failed"
	// PodGroupFinished: minMember pods have succeeded.
	PodGroupFinished PodGroupPhase = "Finished"
)

// PodGroupScheduledCondition is the type of the condition that says whether minMember
// pods of a group are bound.
const PodGroupScheduledCondition = "Scheduled"

// PodGroupSatisfiedCondition is the type of the condition that says whether minMember pods of a group are bound or have
// succeeded at present: it flips both ways.
const PodGroupSatisfiedCondition = "Satisfied"

// PodGroupRoomBookedCondition is the type of the condition that says whether room in time is booked for a group that waits. It is there
// only while there is something to be said.
const PodGroupRoomBookedCondition = "RoomBooked"

// PodGroupList is a list of groups.
//
// +kubebuilder:object:root=true
type PodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodGroup `json:"items"`
}
