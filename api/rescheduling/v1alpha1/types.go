package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What a ReschedulingPlan is called in the API.
const (
	Group    = "rescheduling.muster.dev"
	Version  = "v1alpha1"
	Kind     = "ReschedulingPlan"
	Resource = "reschedulingplans"
)

// AnnotationApprove has a plan of mode Approve carried out when it is "true".
const AnnotationApprove = Group + "/approve"

// AnnotationMovable says of a pod that it can be moved when it is "true", whatever controls it: that its
// controller replaces it and bears that, and that others do its work meanwhile, or nobody needs it.
const AnnotationMovable = Group + "/movable"

// ReschedulingPlans is the resource.
func ReschedulingPlans() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: Resource}
}

// ReschedulingPlan is pods to move, in this order, and what that is good for.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=rplan
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=muster"
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`,description="What the plan is for."
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`,description="Whether it is carried out."
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="How far it is."
// +kubebuilder:printcolumn:name="Moved",type=string,JSONPath=`.status.moved`,description="How many of the pods have moved."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,description="What it waits for, or how it ended."
type ReschedulingPlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is to be done. It never changes.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a plan never changes; delete it and let another one be made"
	Spec ReschedulingPlanSpec `json:"spec"`
	// What has been done.
	//
	// +optional
	Status ReschedulingPlanStatus `json:"status,omitempty"`
}

// Policy names the purpose of a plan.
//
// +kubebuilder:validation:Enum=MakeRoom;Coalesce;FreeDomains;Relieve;Balance;Respread;Separate;Repair
type Policy string

// The policies.
const (
	MakeRoom    Policy = "MakeRoom"    // pending pods get a place
	Coalesce    Policy = "Coalesce"    // nodes become empty
	FreeDomains Policy = "FreeDomains" // nodes of one topology domain become empty together
	Relieve     Policy = "Relieve"     // hot nodes use less
	Balance     Policy = "Balance"     // nodes that use much more than the others use less
	Respread    Policy = "Respread"    // new nodes take their part
	Separate    Policy = "Separate"    // pods leave others, or their node, on request
	Repair      Policy = "Repair"      // pods leave nodes that would not take them any more
)

// Policies are all of them.
func Policies() []Policy {
	return []Policy{MakeRoom, Coalesce, FreeDomains, Relieve, Balance, Respread, Separate, Repair}
}

// Mode says whether a plan is carried out.
//
// +kubebuilder:validation:Enum=DryRun;Approve;Auto
type Mode string

// The modes.
const (
	DryRun  Mode = "DryRun"  // never
	Approve Mode = "Approve" // once it is annotated with AnnotationApprove
	Auto    Mode = "Auto"    // at once
)

// Values returns what may be written.
func (Mode) Values() []string { return []string{string(DryRun), string(Approve), string(Auto)} }

// ReschedulingPlanSpec lists the moves of a plan.
type ReschedulingPlanSpec struct {
	// What the plan is for.
	Policy Policy `json:"policy"`
	// Whether it is carried out: never (DryRun), once it is approved (Approve) or at once (Auto).
	Mode Mode `json:"mode"`
	// The pending pods that get a place.
	//
	// +optional
	Beneficiaries []Beneficiary `json:"beneficiaries,omitempty"`
	// The nodes that become empty.
	//
	// +optional
	Empties []string `json:"empties,omitempty"`
	// The pods that move, in this order.
	//
	// +kubebuilder:validation:MinItems=1
	Steps []Step `json:"steps"`
	// When the plan is given up, unless the status says otherwise: until then a plan of mode Approve waits
	// for that.
	Expires metav1.Time `json:"expires"`
}

// PodReference is a pod.
type PodReference struct {
	// The namespace of the pod.
	Namespace string `json:"namespace"`
	// The name of the pod.
	Name string `json:"name"`
	// The UID of the pod.
	UID types.UID `json:"uid"`
}

// String is the namespace and the name.
func (r PodReference) String() string { return r.Namespace + "/" + r.Name }

// Beneficiary is a pending pod that gets a place.
type Beneficiary struct {
	PodReference `json:",inline"`

	// The node that will have room for it.
	Node string `json:"node"`
	// The gang that it is of.
	//
	// +optional
	Gang string `json:"gang,omitempty"`
	// The same in words.
	//
	// +optional
	Why string `json:"why,omitempty"`
}

// Controller replaces the pod once it is evicted.
type Controller struct {
	// Its kind, such as ReplicaSet.
	Kind string `json:"kind"`
	// Its name, in the namespace of the pod.
	Name string `json:"name"`
	// Its UID.
	UID types.UID `json:"uid"`
}

// Step is a pod that is evicted, so that what replaces it goes to another node.
type Step struct {
	// The pod that is evicted.
	Pod PodReference `json:"pod"`
	// What replaces it.
	Controller Controller `json:"controller"`
	// The pod's gang, which moves as a whole.
	//
	// +optional
	Gang string `json:"gang,omitempty"`
	// The future pod, as far as a scheduler reads it. The replacement has a new name and is
	// recognized by this, and room is kept for it.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Replacement corev1.PodTemplateSpec `json:"replacement"`
	// The node that it leaves.
	From string `json:"from"`
	// The node that the replacement goes to.
	To string `json:"to"`
	// What the move is good for, in words.
	//
	// +optional
	Why string `json:"why,omitempty"`
	// What the move costs, in thousandths of a plain eviction.
	//
	// +optional
	Cost int64 `json:"cost,omitempty"`
}

// Phase is how far a plan is.
//
// +kubebuilder:validation:Enum=Pending;Approved;Executing;Succeeded;Failed;Expired
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"   // it waits for approval, or is never carried out
	Approved  Phase = "Approved"  // it waits for its turn; its room is kept
	Executing Phase = "Executing" // pods are evicted; its room is kept
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
	Expired   Phase = "Expired"
)

// ReschedulingPlanStatus tells how far a plan has come.
type ReschedulingPlanStatus struct {
	// How far the plan is.
	//
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// How many of the pods have moved, as in 1/3.
	//
	// +optional
	Moved string `json:"moved,omitempty"`
	// What the plan waits for, or how it ended.
	//
	// +optional
	Message string `json:"message,omitempty"`
	// When the rescheduler has seen that the plan is to be carried out: that somebody has approved of it, or
	// that its mode is Auto.
	//
	// +optional
	Approved *metav1.Time `json:"approved,omitempty"`
	// When the plan is given up, from then on. Both are by the clock of the rescheduler: by another one, only
	// the time between them counts.
	//
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// When the first step began.
	//
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// When it ended.
	//
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
	// How far the steps are, in the order of spec.steps.
	//
	// +optional
	Steps []StepStatus `json:"steps,omitempty"`
	// The condition Reserved says whether muster keeps the room of the plan: nothing is evicted
	// before. The condition Finished says whether the plan has ended, and how.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of the conditions of a plan.
const (
	// ConditionReserved is the extender's word that it keeps the room of the plan, and what is moved
	// off the nodes that it leaves. It stays true for the life of the plan. False, it says why the
	// extender cannot keep the room yet.
	ConditionReserved = "Reserved"
	// ConditionFinished says whether the plan has ended.
	ConditionFinished = "Finished"
)

// These reasons make [ConditionReserved] false for good: the room is kept no more.
const (
	// ReasonReplacementDiffers is that what replaces a pod is of another kind, and the room does not do for it. It may go
	// anywhere.
	ReasonReplacementDiffers = "ReplacementDiffers"
	// ReasonSystemPodCame says that a pod of a DaemonSet took the room, or a pod that is critical to the system. No plan
	// keeps such pods out.
	ReasonSystemPodCame = "SystemPodCame"
)

// StepPhase is how far a step is.
//
// +kubebuilder:validation:Enum=Waiting;Evicting;Evicted;Moved
type StepPhase string

// The phases of a step.
const (
	StepWaiting  StepPhase = "Waiting"  // for its turn
	StepEvicting StepPhase = "Evicting" // the eviction may have been asked for
	StepEvicted  StepPhase = "Evicted"  // its replacement is awaited
	StepMoved    StepPhase = "Moved"    // the replacement is bound and ready, the pod is gone
)

// StepStatus is how far a step is.
type StepStatus struct {
	// How far it is.
	//
	// +optional
	Phase StepPhase `json:"phase,omitempty"`
	// The pods of its controller that were there before the eviction, and are not what replaces the pod: those on
	// the two nodes, and those without a node that a scheduler can tell from it. They are forgotten once it has moved.
	//
	// +optional
	// +listType=set
	Siblings []types.UID `json:"siblings,omitempty"`
	// When the eviction was granted.
	//
	// +optional
	Evicted *metav1.Time `json:"evicted,omitempty"`
	// That what came in the place of the pod is of another kind, by its requests or what else a scheduler reads, and that
	// the room did not do for it. The cool-down of its controller is twice as long for each such time.
	//
	// +optional
	Differs bool `json:"differs,omitempty"`
	// What came in the place of the pod.
	//
	// +optional
	Replacement *PodReference `json:"replacement,omitempty"`
	// The node that it is on.
	//
	// +optional
	Node string `json:"node,omitempty"`
}

// ReschedulingPlanList is a list of ReschedulingPlans.
//
// +kubebuilder:object:root=true
type ReschedulingPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ReschedulingPlan `json:"items"`
}
