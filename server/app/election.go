package app

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/leadership"
)

// ElectionOptions make an Election. Options are required unless they say otherwise.
type ElectionOptions struct {
	Registerer prometheus.Registerer
	// Leases reads and writes the lease. With nil nobody is elected, and this process leads.
	Leases coordinationv1client.LeasesGetter
	Config config.LeaderElection
	// Name of the lease.
	Name string
	// Server is the address of the API server: see [leadership.Options].
	Server string
	// Eligibility says when this process may run for the lease; nil is always.
	Eligibility *leadership.Eligibility
}

// Election says whether this process leads, and fences what only the leader may do.
type Election struct {
	candidate *leadership.Candidate // nil when nobody is elected
	fence     *leadership.Fence
	term      atomic.Pointer[leadership.Term] // nil until this process is about to lead
	leading   atomic.Bool
}

// NewElection returns an Election in which this process does not lead yet.
func NewElection(o ElectionOptions) (*Election, error) {
	if o.Leases == nil {
		return &Election{fence: leadership.Always()}, nil
	}
	candidate, err := leadership.New(leadership.Options{
		Registerer: o.Registerer, Clock: clock.RealClock{}, Leases: o.Leases, Config: o.Config, Name: o.Name,
		Server: o.Server, Eligibility: o.Eligibility,
	})
	if err != nil {
		return nil, err
	}
	return &Election{candidate: candidate, fence: candidate.Fence()}, nil
}

// Fence is open while this process may act as the leader.
func (e *Election) Fence() *leadership.Fence { return e.fence }

// Leading reports whether this process has begun to lead. Whether it may still is for the Fence to say.
func (e *Election) Leading() bool { return e.leading.Load() }

// Elected reports whether this process leads by an election.
func (e *Election) Elected() bool { return e.candidate != nil && e.Leading() && e.fence.Check() == nil }

// waits is why a process that does not lead answers no calls.
func (e *Election) waits() error {
	if e.candidate == nil {
		return leadership.ErrNotLeader
	}
	return e.candidate.Waits()
}

// ineligible is closed when this process leads and must not any more.
func (e *Election) ineligible() <-chan struct{} {
	if e.candidate == nil {
		return nil
	}
	return e.candidate.Ineligible()
}

// Term returns the term of this process, zero before it leads and when nobody is elected.
func (e *Election) Term() leadership.Term {
	if term := e.term.Load(); term != nil {
		return *term
	}
	return leadership.Term{}
}

// begin has this process lead for a term, once what only the leader does is prepared.
func (e *Election) begin(term leadership.Term, prepare func()) {
	e.term.Store(&term)
	if prepare != nil {
		prepare()
	}
	e.leading.Store(true)
}

// run runs for the lease until the context ends, and calls lead when it is won. An error says that the
// lease was lost, or that lead failed.
func (e *Election) run(ctx context.Context, lead func(context.Context, leadership.Term) (clean bool, err error)) error {
	if e.candidate == nil {
		_, err := lead(ctx, leadership.Term{})
		return err
	}
	return e.candidate.Run(ctx, lead)
}
