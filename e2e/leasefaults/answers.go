package leasefaults

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// answer is one that a replica gave to a call, with status 200.
type answer struct {
	by   *incarnation
	verb string
	pod  types.UID // "" where it does not matter
	// node is the one that it gave to the pod, or bound it to; "" for none.
	node string
	// It was given between these two times.
	from, to time.Time
}

// claim is the time for which a pod has the node that an answer gave to it.
type claim struct {
	answer
	// until is when the replica may first have taken it back, zero for never.
	until time.Time
}

// answers are all that were given in a run. Its methods are safe for concurrent use.
type answers struct {
	mu     sync.Mutex
	given  []answer
	claims map[types.UID][]*claim
	last   answer // by the time that it was received
}

func newAnswers() *answers { return &answers{claims: map[types.UID][]*claim{}} }

// add takes in an answer. A pod that gets a node by it has no other one any more.
func (a *answers) add(given answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given = append(a.given, given)
	if given.to.After(a.last.to) {
		a.last = given
	}
	if given.verb == filter && given.node != "" {
		a.claims[given.pod] = append(a.claims[given.pod], &claim{answer: given})
	}
}

// release says that from a time on a replica may take a pod's node back: the pod is asked about anew, or
// could not be bound.
func (a *answers) release(pod types.UID, from time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.claims[pod] {
		if c.until.IsZero() {
			c.until = from
		}
	}
}

// leader is who gave the last answer, nil when nobody did.
func (a *answers) leader() *incarnation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.by
}

// since says that an answer was given from a time on.
func (a *answers) since(at time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.from.After(at)
}

// all are the answers and the claims, when no more are added.
func (a *answers) all() (given []answer, claims []*claim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.claims {
		claims = append(claims, of...)
	}
	return a.given, claims
}
