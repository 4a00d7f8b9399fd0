package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/server/leadership"
)

// When says from when on a Component runs.
type When int

const (
	// Always is from the start.
	Always When = iota
	// Synced is from when the view of the cluster is complete.
	Synced
	// Leading is from when the process leads and its view is complete.
	Leading
)

// Component is a part of a process that runs beside the others until its context ends. The context of one
// that runs while Leading ends first.
type Component struct {
	Name string
	When When
	// Run runs it. An error ends the process.
	Run func(ctx context.Context) error
}

// Part is a Component that cannot fail.
func Part(name string, when When, run func(ctx context.Context)) Component {
	return Component{Name: name, When: when, Run: func(ctx context.Context) error {
		run(ctx)
		return nil
	}}
}

// Stop is a step of stopping in good order.
type Stop struct {
	Name string
	// Run carries it out, until the context ends at the latest. It reports whether nothing was cut off.
	Run func(ctx context.Context) (clean bool)
}

// Process is the parts of a process, and the order in which they start and stop. Logger, Election and Wait
// are required.
type Process struct {
	Logger     *slog.Logger
	Components []Component
	// Stops are in the order in which what they stop was begun. They are carried out from the last to the
	// first, when the Components that lead were told to end, and before the others are.
	Stops []Stop
	// Patience is how long the Stops may take together.
	Patience time.Duration
	// Wait returns when the view of the cluster is complete. An error says that it never will be.
	Wait func(ctx context.Context) error
	// Election says when this process leads.
	Election *Election
	// Candidacy returns when the process may run for the lease; nil is at once. An error says that it was
	// asked to stop.
	Candidacy func(ctx context.Context) error
	// CatchUp returns when the process knows what the leader before has done. It is not called when nobody
	// is elected. An error ends the process.
	CatchUp func(ctx context.Context) error
	// Begin prepares what only the leader does. The Election knows the term by then.
	Begin func()
}

// Run runs a process until the context ends, a Component fails, the lease is lost, or this process may not have it any
// more. Asked to stop, it gives the lease back last, when nothing runs any more, and so it does in the last case, in which
// the error is [leadership.ErrIneligible].
func (p *Process) Run(ctx context.Context) error {
	ctx, ask := context.WithCancelCause(ctx)
	defer ask(nil)
	group, either := errgroup.WithContext(context.WithoutCancel(ctx))
	running, resign := context.WithCancel(either)
	r := &run{Process: p, led: make(chan struct{})}
	group.Go(func() error {
		defer resign()
		return r.work(ctx, either)
	})
	group.Go(func() error { return r.lead(running) })
	group.Go(func() error {
		select {
		case <-p.Election.ineligible():
			p.Logger.Info("stopping, to stand by", "reason", leadership.ErrIneligible)
			ask(leadership.ErrIneligible)
		case <-running.Done():
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := context.Cause(ctx); errors.Is(err, leadership.ErrIneligible) {
		return err
	}
	return nil
}

// run is one run of a Process.
type run struct {
	*Process
	led   chan struct{} // closed when this process leads
	clean atomic.Bool   // nothing was cut off when it stopped
}

// lead leads once this process may, until the context ends, which must be when nothing runs any more
// that only the leader may do. An error says that the lease was lost.
func (r *run) lead(ctx context.Context) error {
	if r.Candidacy != nil && r.Candidacy(ctx) != nil {
		return nil //nolint:nilerr // it was asked to stop
	}
	return r.Election.run(ctx, func(leading context.Context, term leadership.Term) (clean bool, err error) {
		if r.CatchUp != nil && r.Election.candidate != nil {
			if err := r.CatchUp(leading); err != nil {
				return true, err
			}
		}
		r.Election.begin(term, r.Begin)
		close(r.led)
		r.Logger.Info("leading")
		<-leading.Done()
		return r.clean.Load(), nil
	})
}

// work runs the Components until the process is asked to stop, or must: the lease is lost, or a part has
// failed.
func (r *run) work(asked, must context.Context) error {
	work, stop := context.WithCancel(must)
	defer stop()
	group, work := errgroup.WithContext(work)
	ahead, enough := context.WithCancel(work)
	defer enough()
	for _, component := range r.Components {
		group.Go(func() error { return r.component(work, ahead, component) })
	}
	group.Go(func() error {
		select {
		case <-asked.Done():
		case <-work.Done():
		}
		enough()
		r.clean.Store(r.stop(must))
		stop()
		return nil
	})
	return group.Wait()
}

// lostGrace is how long the Stops may take once the process must end, so that calls in flight are told that
// it does not lead any more.
const lostGrace = time.Second

// stop carries out the Stops. When the process must end, they have no time for all that they may do: another
// replica may act already.
func (r *run) stop(must context.Context) (clean bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(must), r.Patience)
	defer cancel()
	defer context.AfterFunc(must, func() { time.AfterFunc(lostGrace, cancel) })()
	clean = true
	for _, last := range slices.Backward(r.Stops) {
		clean = last.Run(ctx) && clean
	}
	return clean
}

// component runs a Component from its time on.
func (r *run) component(work, ahead context.Context, c Component) error {
	ctx := work
	if c.When == Leading {
		ctx = ahead
		select {
		case <-ctx.Done():
			return nil
		case <-r.led:
		}
	}
	if c.When != Always && r.Wait(ctx) != nil {
		return nil //nolint:nilerr // it was asked to stop
	}
	return c.Run(ctx)
}
