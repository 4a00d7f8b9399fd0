package extender

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster/lock"
)

// flights are the bind calls that are being answered, one for each pod: two of them could
// have it count on two nodes, or end what the other one counts on. Its methods are safe for concurrent use.
type flights struct {
	mu    sync.Mutex
	calls map[types.UID]*flight

	judging lock.Mutex
}

// flight is a bind call.
type flight struct {
	node string
	left func() bool // whether its caller has gone
	done chan struct{}
	// Once done is closed:
	err   error
	heard bool // its caller was there to the end
}

func newFlights() *flights {
	return &flights{calls: map[types.UID]*flight{}, judging: lock.New(lock.Binding)}
}

// errPanicked is the end of a call that got an unknown way.
var errPanicked = errors.New("the call that was binding the pod failed: it may be bound, or not")

// do calls bind, unless a call about the same pod lasts: then that one's error is returned if
// it is for the same node, and an error at once for another one. A call whose caller has
// gone is about to end: it is waited for, and has no say.
func (f *flights) do(ctx context.Context, uid types.UID, node string, bind func() error) error {
	for {
		mine, other := f.enter(ctx, uid, node)
		switch {
		case other == nil:
			defer f.leave(uid, mine)
			mine.err = errPanicked // for waiting calls, unless bind returns
			mine.err = bind()
			return mine.err
		case other.node != node && !other.left():
			return fmt.Errorf("the pod is being bound to node %s already", other.node)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-other.done:
		}
		if other.heard {
			return other.err
		}
	}
}

// enter returns the call that lasts, or the one that begins with this.
func (f *flights) enter(ctx context.Context, uid types.UID, node string) (mine, other *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.calls[uid]; other != nil {
		return nil, other
	}
	mine = &flight{node: node, left: func() bool { return ctx.Err() != nil }, done: make(chan struct{})}
	f.calls[uid] = mine
	return mine, nil
}

func (f *flights) leave(uid types.UID, mine *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, uid)
	mine.heard = !mine.left()
	close(mine.done)
}

// judge has a pod judged and counted while no other call does that: otherwise each pod that is counted could
// have all the others judged again.
func (f *flights) judge(judgeAndCount func() error) error {
	f.judging.Lock()
	defer f.judging.Unlock()
	return judgeAndCount()
}

// pass returns once each lock was free.
func (f *flights) pass() {
	for _, l := range []sync.Locker{&f.mu, &f.judging} {
		func() {
			l.Lock()
			defer l.Unlock()
		}()
	}
}

const (
	// mostAtOnce is how many requests to bind are at the API server at a time, unless it is slow.
	// kube-scheduler asks for every place that it has found, hundreds when it is faster than the API server.
	// All at once they would wait there for its processors, and each beyond the streams of a connection (100 by
	// default, http2-max-streams-per-connection) would open another one, whose handshake costs both sides more
	// than a binding.
	mostAtOnce = 24
	// patience is when a request that was not answered counts no more. An API server that is slow, and not busy, would bind
	// no more pods if it were asked for fewer: so 240 requests begin a second, however late the answers are.
	patience = 100 * time.Millisecond
)

// pace lets requests begin in the order in which they came, few at a time. It is safe for concurrent use.
type pace struct{ slots chan struct{} }

func newPace() *pace { return &pace{make(chan struct{}, mostAtOnce)} }

// keep makes a request when its turn has come, and returns its error; that of the context if it ends before.
func (p *pace) keep(ctx context.Context, request func() error) error {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	leave := sync.OnceFunc(func() { <-p.slots })
	defer leave()
	defer time.AfterFunc(patience, leave).Stop()
	return request()
}
