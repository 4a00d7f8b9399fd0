package server

import (
	"errors"
	"fmt"
	"sync/atomic"

	"muster.dev/muster/server/leadership"
)

// Why a process is not ready.
var (
	errNotSynced = errors.New("the view of the cluster is not complete yet")
	errBeginning = errors.New("this replica is beginning to lead")
	errStopping  = errors.New("muster is stopping")
)

// readiness knows whether calls can be answered.
type readiness struct {
	// synced says that the view is complete. It is asked until it first says so: a
	// custom resource that appears later does not stop anything.
	synced   func() bool
	complete atomic.Bool
	// certified is why nobody can connect over https, nil as a function where that is not so.
	certified func() error
	// fence is open while this process may act as the leader, leading says that it does.
	fence    *leadership.Fence
	leading  atomic.Bool
	stopping atomic.Bool
}

// serving is why verbs cannot be answered, nil when they can. A process that is
// stopping still answers, so that no call is lost on the way.
func (r *readiness) serving() error {
	if !r.complete.Load() {
		if !r.synced() {
			return errNotSynced
		}
		r.complete.Store(true)
	}
	if err := r.fence.Check(); err != nil {
		return err
	}
	if !r.leading.Load() {
		return errBeginning
	}
	return nil
}

// ready is why no new calls should be sent here, nil when they may.
func (r *readiness) ready() error {
	if r.stopping.Load() {
		return errStopping
	}
	if r.certified != nil {
		if err := r.certified(); err != nil {
			return fmt.Errorf("serving.tls.selfManaged: %w", err)
		}
	}
	return r.serving()
}
