package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"muster.dev/muster/server/leadership"
)

// Why a process is not ready.
var (
	ErrNotSynced = errors.New("the view of the cluster is not complete yet")
	ErrBeginning = errors.New("this replica is beginning to lead")
	ErrStopping  = errors.New("muster is stopping")
)

// ReadinessOptions make a Readiness. Options are required unless they say otherwise.
type ReadinessOptions struct {
	// Synced reports whether the view is complete. It is asked until it first says so: a
	// custom resource that appears later does not stop anything.
	Synced func() bool
	// Certified is why nobody can connect over https. It may be nil.
	Certified func() error
	Election  *Election
}

// Readiness knows whether calls can be answered.
type Readiness struct {
	options  ReadinessOptions
	complete atomic.Bool
	stopping atomic.Bool
}

// NewReadiness returns the Readiness of a process that does not stop.
func NewReadiness(o ReadinessOptions) *Readiness {
	if o.Certified == nil {
		o.Certified = func() error { return nil }
	}
	return &Readiness{options: o}
}

// Synced reports whether the view of the cluster is complete.
func (r *Readiness) Synced() bool { return r.options.Synced() }

// Serving is why calls cannot be answered, nil when they can. A process that is
// stopping still answers, so that no call is lost on the way.
func (r *Readiness) Serving() error {
	if !r.complete.Load() {
		if !r.options.Synced() {
			return ErrNotSynced
		}
		r.complete.Store(true)
	}
	if err := r.options.Election.Fence().Check(); errors.Is(err, leadership.ErrNotLeader) {
		return r.options.Election.waits()
	} else if err != nil {
		return err
	}
	if !r.options.Election.Leading() {
		return ErrBeginning
	}
	return nil
}

const (
	// awaitServing is how long a call waits for a process that is about to answer calls. It is less than any client waits.
	awaitServing = 2 * time.Second
	// servingPoll is how often a call that waits looks.
	servingPoll = 10 * time.Millisecond
)

// Await is Serving, of a process that is about to answer calls once it does, or does not within 2 s. After an error
// kube-scheduler leaves alone for a second and more each pod that it tried.
func (r *Readiness) Await(ctx context.Context) error {
	err := r.Serving()
	if err == nil || !r.about(err) {
		return err
	}
	look := time.NewTicker(servingPoll)
	defer look.Stop()
	ctx, enough := context.WithTimeout(ctx, awaitServing)
	defer enough()
	for err != nil && r.about(err) {
		select {
		case <-ctx.Done():
			return err
		case <-look.C:
		}
		err = r.Serving()
	}
	return err
}

// about reports whether a process that does not answer calls for a reason may do so soon. The caller may be the kube-scheduler
// beside it, which knows first that it leads.
func (r *Readiness) about(err error) bool {
	soon := []error{ErrNotSynced, ErrBeginning, leadership.ErrTakingOver, leadership.ErrUnknown, leadership.ErrStandingBy}
	return !r.stopping.Load() && slices.ContainsFunc(soon, func(e error) bool { return errors.Is(err, e) })
}

// Ready is why no new calls should be sent here, nil when they may, and where the process stands by, as nobody calls it
// then.
func (r *Readiness) Ready() error {
	if r.stopping.Load() {
		return ErrStopping
	}
	if err := r.options.Certified(); err != nil {
		return fmt.Errorf("serving.tls.selfManaged: %w", err)
	}
	err := r.Serving()
	if errors.Is(err, leadership.ErrStandingBy) {
		return nil
	}
	return err
}

// Stop has no new calls sent here.
func (r *Readiness) Stop() { r.stopping.Store(true) }
