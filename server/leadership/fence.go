package leadership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Why this process may not act.
var (
	ErrNotLeader = errors.New("another replica is the leader")
	ErrLost      = errors.New("leadership lost")
	ErrResigned  = errors.New("this replica does not lead any more: it is stopping")
)

// errUnclean keeps the lease of one who stopped from being given back.
var errUnclean = errors.New("this replica does not lead any more: it stopped before all of its work had ended")

// heldBy is how somebody learns that the lease is lost.
func heldBy(holder string) error { return fmt.Errorf("%w: the lease is held by %q", ErrLost, holder) }

// Fence says whether this process may act as the leader. Its methods are safe for concurrent use.
type Fence struct {
	always  bool
	clock   clock.WithDelayedExecution
	wall    func() time.Time // the time of day, without a monotonic reading
	good    time.Duration    // how long a renewal is good for
	metrics *metrics

	over  context.Context //nolint:containedctx // it ends when the fence closes for good; the cause says why
	close context.CancelCauseFunc

	renewed atomic.Pointer[moment] // when the last renewal began, nil before the first

	mu    sync.Mutex // one renewal, or the end, at a time
	timer clock.Timer
}

// moment is a reading of both clocks.
type moment struct{ steady, wall time.Time }

// Always is a fence that is open and stays so: of a process that has no others beside it.
func Always() *Fence { return &Fence{always: true, over: context.Background()} }

func newFence(c clock.WithDelayedExecution, good time.Duration, m *metrics) *Fence {
	f := &Fence{clock: c, wall: func() time.Time { return c.Now().Round(0) }, good: good, metrics: m}
	f.over, f.close = context.WithCancelCause(context.Background())
	return f
}

// Check is nil while this process may act. Else it says why not: [ErrNotLeader] before it leads, and
// once the fence has closed an error that stays, [ErrLost] among them.
func (f *Fence) Check() error {
	if f.always {
		return nil
	}
	if err := context.Cause(f.over); err != nil {
		return err
	}
	renewed := f.renewed.Load()
	if renewed == nil {
		return ErrNotLeader
	}
	if _, passed := f.since(*renewed); passed {
		return f.expire()
	}
	return nil
}

// Done is closed when the fence has closed for good.
func (f *Fence) Done() <-chan struct{} { return f.over.Done() }

// now reads both clocks.
func (f *Fence) now() moment { return moment{f.clock.Now(), f.wall()} }

// since is how long ago a renewal began, by the clock that says more, and whether it is good no more.
func (f *Fence) since(renewed moment) (ago time.Duration, passed bool) {
	now := f.now()
	ago = max(now.steady.Sub(renewed.steady), now.wall.Sub(renewed.wall))
	return ago, ago >= f.good
}

// renew takes note of a renewal that began at a moment and has succeeded. An error says that it came
// too late.
func (f *Fence) renew(began moment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := context.Cause(f.over); err != nil {
		return err
	}
	if before := f.renewed.Load(); before != nil {
		if ago, passed := f.since(*before); passed {
			return f.lose(ago)
		}
	}
	ago, passed := f.since(began)
	if passed { // the first one: later ones began after one that is good still
		return fmt.Errorf("to take the lease took %s, and that is good for %s", ago.Round(time.Millisecond), f.good)
	}
	f.renewed.Store(&began)
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer = f.clock.AfterFunc(f.good-ago, func() { _ = f.Check() }) // which closes it
	f.metrics.leader.Set(1)
	return nil
}

// expire closes the fence, unless the lease was renewed in this moment.
func (f *Fence) expire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := context.Cause(f.over); err != nil {
		return err
	}
	ago, passed := f.since(*f.renewed.Load())
	if !passed {
		return nil
	}
	return f.lose(ago)
}

// lose closes the fence as the last renewal is too long ago. The caller holds the lock.
func (f *Fence) lose(ago time.Duration) error {
	f.end(fmt.Errorf("%w: the lease was last renewed %s ago, and that is good for %s", ErrLost, ago.Round(time.Millisecond), f.good))
	return context.Cause(f.over)
}

// shut closes the fence for good.
func (f *Fence) shut(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(why)
}

// end closes the fence for good. The caller holds the lock. Only the first reason counts.
func (f *Fence) end(why error) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.metrics.leader.Set(0)
	f.close(why)
}
