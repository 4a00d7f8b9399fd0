package extender

import (
	"context"
	"sync"
	"time"
)

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
