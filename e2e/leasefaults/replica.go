package leasefaults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/muster"
)

// incarnation is one process of a replica. It leads for one time at most.
type incarnation struct {
	name   string
	way    *way
	server *muster.Server
	http   *http.Client
}

// replica is started again when it has ended. Its methods are safe for concurrent use.
type replica struct {
	name    string
	way     *way
	options muster.Options
	now     atomic.Pointer[incarnation] // nil when it never ran

	doing sync.Mutex // one thing at a time is done to it, and it runs while nothing is
	runs  int
	off   bool
}

// start starts another process, unless one runs. The caller holds the lock.
func (r *replica) start(ctx context.Context) error {
	r.off = false
	if now := r.now.Load(); now != nil {
		select {
		case <-now.server.Done():
			now.http.CloseIdleConnections()
		default:
			return nil
		}
	}
	server, err := muster.Launch(ctx, r.options)
	if err != nil {
		return err
	}
	r.runs++
	r.now.Store(&incarnation{
		name: fmt.Sprintf("%s.%d", r.name, r.runs), way: r.way, server: server,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20}, Timeout: callTimeout},
	})
	return nil
}

// down ends the process in a way, and starts another one after a time.
func (r *replica) down(ctx context.Context, end func(*muster.Server), after time.Duration) error {
	r.doing.Lock()
	defer r.doing.Unlock()
	end(r.now.Load().server)
	faultcampaign.Pause(ctx, after)
	return r.start(ctx)
}

// kill ends the process as a crash would.
func kill(s *muster.Server) { _ = s.Crash() } // it may have ended by itself

// stop ends the process in good order.
func stop(s *muster.Server) { s.Stop() }

// freeze stops the process where it is, for a time. Nothing is done when it has ended.
func (r *replica) freeze(ctx context.Context, length time.Duration) {
	r.doing.Lock()
	defer r.doing.Unlock()
	now := r.now.Load()
	if err := now.server.Pause(); err != nil {
		return // it is gone
	}
	faultcampaign.Pause(ctx, length)
	_ = now.server.Resume() // it may have been killed
}

// leadershipLost is why a process may end by itself.
const leadershipLost = "leadership lost"

// keepUp starts replicas again that have ended as they have lost their lease, until the context ends. It
// fails when one ended for another reason.
func (l *lane) keepUp(ctx context.Context) error {
	tick := time.NewTicker(faultcampaign.Look)
	defer tick.Stop()
	for {
		for _, r := range l.replicas {
			if !r.doing.TryLock() {
				continue
			}
			err := r.keepUp(ctx)
			r.doing.Unlock()
			if err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// keepUp starts the replica again if it has ended. The caller holds the lock.
func (r *replica) keepUp(ctx context.Context) error {
	if r.off || ctx.Err() != nil {
		return nil //nolint:nilerr // it is not asked any more
	}
	switch err := r.now.Load().server.Err(); {
	case err == nil:
		return nil
	case !strings.Contains(err.Error(), leadershipLost):
		return errors.Join(errEnded, err)
	}
	return r.start(ctx)
}

// errEnded is why a campaign ends: a process has.
var errEnded = errors.New("a process ended by itself")

// close ends the process for good.
func (r *replica) close() {
	r.doing.Lock()
	defer r.doing.Unlock()
	r.off = true
	if now := r.now.Load(); now != nil {
		kill(now.server)
		now.http.CloseIdleConnections()
	}
}
