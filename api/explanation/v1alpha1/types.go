package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What a Question is called in the API.
const (
	Group    = "explanation.muster.dev"
	Version  = "v1alpha1"
	Kind     = "Question"
	Resource = "questions"
)

// Questions is the resource.
func Questions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: Resource}
}

// Question asks why a pod or a gang of its namespace waits. muster answers once, and deletes it some minutes later.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=muster"
// +kubebuilder:printcolumn:name="About",type=string,JSONPath=`.spec.about`,description="What is asked about."
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`,description="Whether it waits."
// +kubebuilder:printcolumn:name="Summary",type=string,JSONPath=`.status.summary`,description="The answer in short."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Question struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is asked. It never changes.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a question never changes; delete it and ask another one"
	Spec QuestionSpec `json:"spec"`
	// The answer, which muster writes.
	//
	// +optional
	Status QuestionStatus `json:"status,omitempty"`
}

// QuestionSpec names the pod or the gang that is asked about.
type QuestionSpec struct {
	// What is asked about, in the namespace of the question: pod/NAME or gang/NAME.
	//
	// +kubebuilder:validation:MaxLength=258
	// +kubebuilder:validation:Pattern=`^(pod|gang)/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	About string `json:"about"`
}

// Outcome is an answer in a word.
//
// +kubebuilder:validation:Enum=Waits;GoesOn;NotFound
type Outcome string

// The outcomes.
const (
	Waits    Outcome = "Waits"    // the gang waits, or the pod does and fits on no node
	GoesOn   Outcome = "GoesOn"   // the gang does not wait; the pod has a node, or there is one that it fits on
	NotFound Outcome = "NotFound" // muster knows no such pod or gang
)

// Bounds of an answer, in bytes.
const (
	MaxSummary = 512
	MaxText    = 4096
)

// MaxRefusals is how many refusals an answer lists.
const MaxRefusals = 16

// QuestionStatus is the answer. It names no other namespaces, nor their pods and gangs, and no node besides the pod's own, or
// the ones that members of the gang have.
type QuestionStatus struct {
	// When muster answered, by its clock.
	//
	// +optional
	AnsweredAt *metav1.Time `json:"answeredAt,omitempty"`
	// The generation of muster's view of the cluster that the answer is about.
	//
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// The answer in a word: Waits, GoesOn or NotFound.
	//
	// +optional
	Outcome Outcome `json:"outcome,omitempty"`
	// The answer in a line.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Summary string `json:"summary,omitempty"`
	// The answer as 'kubectl muster why' prints it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Text string `json:"text,omitempty"`
	// Of a pod, the nodes of the cluster by what they are for it.
	//
	// +optional
	Nodes *Nodes `json:"nodes,omitempty"`
	// Of a pod, what is against the nodes that refuse it, the objections to most nodes first. A node may have several.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Refusals []Refusal `json:"refusals,omitempty"`
	// Of a gang that looks for places, how many members would get one now.
	//
	// +optional
	Places *Places `json:"places,omitempty"`
}

// Nodes counts nodes by what they are for a pod. All is the sum of the others.
type Nodes struct {
	// All nodes.
	All int `json:"all"`
	// Nodes that take the pod as they are.
	Fit int `json:"fit"`
	// Nodes that take it once plans of lower priority give way.
	Yield int `json:"yield"`
	// Nodes that lack room, and nothing else is against them.
	Full int `json:"full"`
	// Nodes that something else is against.
	Refuse int `json:"refuse"`
}

// Refusal is an objection to a number of nodes.
type Refusal struct {
	// Who objects.
	Predicate string `json:"predicate"`
	// Why.
	Reason string `json:"reason"`
	// To how many nodes.
	Nodes int `json:"nodes"`
}

// Places counts members of a gang, and of gangs that start together with it.
type Places struct {
	// Members that need a place before any starts.
	Wanted int `json:"wanted"`
	// Members that would get one now.
	Found int `json:"found"`
}

// QuestionList is a list of Questions.
//
// +kubebuilder:object:root=true
type QuestionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Question `json:"items"`
}
