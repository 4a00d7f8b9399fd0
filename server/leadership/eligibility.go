package leadership

import (
	"context"
	"errors"
	"sync"
)

// ErrIneligible ends a process that must not lead any more, though it still had the lease.
var ErrIneligible = errors.New("the kube-scheduler beside this replica does not lead any more")

// ErrTakingOver is why a process that may lead does not yet.
var ErrTakingOver = errors.New("this replica is about to lead: the lease of the leader before has not been given back, or run out, yet")

// ErrUnknown is why a process is not ready that does not know yet whether it may lead.
var ErrUnknown = errors.New("it is not known yet whether the kube-scheduler beside this replica leads")

// ErrStandingBy is why a process that may not lead answers no calls, and takes no lease.
var ErrStandingBy = errors.New(
	"this replica stands by: the kube-scheduler beside it does not hold the Lease of leaderElection.schedulerLease")

// Eligibility says whether a process may run for its lease. It may not at first. Its methods are safe for concurrent use.
type Eligibility struct {
	mu       sync.Mutex
	known    bool
	eligible bool
	changed  chan struct{} // closed, and replaced, at each change
}

// NewEligibility returns the Eligibility of a process that may not run yet.
func NewEligibility() *Eligibility { return &Eligibility{changed: make(chan struct{})} }

// Set says whether the process may run from now on.
func (e *Eligibility) Set(eligible bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = true
	if eligible != e.eligible {
		e.eligible = eligible
		close(e.changed)
		e.changed = make(chan struct{})
	}
}

// Know makes the state that was set last the known one, or that it may not lead if nothing was set.
func (e *Eligibility) Know() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = true
}

// Known reports whether it is known whether the process may run.
func (e *Eligibility) Known() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known
}

// Eligible reports whether the process may run.
func (e *Eligibility) Eligible() bool {
	eligible, _ := e.now()
	return eligible
}

func (e *Eligibility) now() (eligible bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.eligible, e.changed
}

// await returns true once the process may run, or once it may not, and false when the context ends before.
func (e *Eligibility) await(ctx context.Context, eligible bool) bool {
	for {
		now, changed := e.now()
		if now == eligible {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}
