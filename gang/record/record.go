// Package record keeps the record of commits: on the PodGroup of a gang it says that members
// were let go, before any of them is bound.
//
// The record is an annotation, and no condition: people read it with kubectl describe, no
// CRD of another project prunes it, and who keeps the status true has nothing to do with it.
package record

import (
	"encoding/json"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation is the name of the annotation on a PodGroup whose value is a Record as JSON.
const Annotation = "muster.dev/committed"

var (
	// ErrFenced says that a later leader has recorded a commit of the group already.
	ErrFenced = errors.New("gang: another replica of muster has taken over and let the group go")
	// ErrChanged says that the PodGroup is gone, or asks for more members than are ready.
	ErrChanged = errors.New("gang: the PodGroup is another one than when its members were counted")
)

// Record says that members of a gang were let go.
type Record struct {
	// Members is how many were bound before, had succeeded or were let go.
	Members int `json:"members"`
	// MinMember is the number that was asked for.
	MinMember int       `json:"minMember"`
	Time      time.Time `json:"time"`
	// PodGroup is the UID of the object that it was written on: a copy of that is not started.
	PodGroup types.UID `json:"podGroup,omitempty"`
	// Since is when the oldest pod was created that was there, and is younger than all that did not count.
	// Pods that finish count from then on, though the PodGroup may be younger.
	Since time.Time `json:"since,omitzero"`
	// Until is when the youngest member was created that was there: who came later was not let go. It is of the API
	// server's clock, as Since is, and Time of muster's, to tell records apart.
	Until time.Time `json:"until,omitzero"`
	// Room says how the scheduler kept the places of the members free before their gates were lifted; "" for a gang
	// whose bind calls were held.
	Room Room `json:"room,omitempty"`
	// Bound says that the number asked for was bound, of a gang that needs this only once. It is written when
	// they are.
	Bound bool `json:"bound,omitempty"`
	// Epoch says under which leader it was written.
	Epoch Epoch `json:"epoch,omitzero"`
}

// Room says how places are kept free that the scheduler does not ask about.
type Room string

const (
	// RoomNominated is by nominations of the gated members.
	RoomNominated Room = "Nominated"
	// RoomUncontested is not at all: no pod that waited could have taken so much that too little was left.
	RoomUncontested Room = "Uncontested"
)

// Epoch orders the leaders of replicas. The zero Epoch, without leader election, is neither
// before nor after another one.
type Epoch struct {
	// Lease is when the Lease was created: deleting it restarts the count.
	Lease time.Time `json:"lease"`
	// Transitions is spec.leaseTransitions of the Lease.
	Transitions int32 `json:"transitions"`
}

// after reports whether an epoch is a later one than another.
func (e Epoch) after(other Epoch) bool {
	switch {
	case e == Epoch{} || other == Epoch{}:
		return false
	case !e.Lease.Equal(other.Lease):
		return e.Lease.After(other.Lease)
	default:
		return e.Transitions > other.Transitions
	}
}

// longest is how long a record may be as text, in bytes: anybody may write an annotation.
const longest = 1024

// Of returns the last record on a PodGroup, nil when there is none, somebody wrote nonsense, or it does not
// name the object: it was copied from another one, or was there when the PodGroup was created. A user who may
// write to the PodGroup can forge one: it decides about that group alone, see package core.
func Of(podGroup metav1.Object) *Record {
	text, recorded := podGroup.GetAnnotations()[Annotation]
	var r Record
	if !recorded || len(text) > longest || json.Unmarshal([]byte(text), &r) != nil || r.PodGroup != podGroup.GetUID() {
		return nil
	}
	return &r
}
