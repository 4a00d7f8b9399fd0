package leadership

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Guard is a copy of a client configuration for what only the leader may write. Its clients send a
// request that may change something only while the fence is open, which is looked at when nothing
// stands between the request and the network any more, rate limits included. When the fence closes,
// requests under way are given up, and what of them has not arrived does not arrive any more. They fail with
// the error of [Fence.Check]. GET, HEAD and OPTIONS pass always. The clients have connections of
// their own.
func (f *Fence) Guard(config *rest.Config) *rest.Config {
	guarded := rest.CopyConfig(config)
	if !f.always {
		guarded.Dial = f.dialer(guarded.Dial)
		guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guard{f, next} })
	}
	return guarded
}

// guard is a transport behind a fence.
type guard struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return g.next.RoundTrip(r)
	}
	if err := g.fence.Check(); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every taker of a request must
		}
		return nil, g.refuse(r, "not sent", err)
	}
	ctx, cut := context.WithCancelCause(r.Context())
	open := context.AfterFunc(g.fence.over, func() { cut(context.Cause(g.fence.over)) })
	end := func() {
		open()
		cut(nil)
	}
	response, err := g.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		defer end()
		if closed := context.Cause(g.fence.over); closed != nil && r.Context().Err() == nil {
			return nil, g.refuse(r, "given up", closed)
		}
		return nil, err
	}
	response.Body = &answer{response.Body, end}
	return response, nil
}

func (g *guard) refuse(r *http.Request, what string, why error) error {
	g.fence.metrics.refused.Inc()
	return fmt.Errorf("%s %s is %s: %w", r.Method, r.URL.Path, what, why)
}

// answer is the body of a response. The fence watches over it until it is closed.
type answer struct {
	io.ReadCloser
	end func()
}

// Close implements [io.Closer].
func (a *answer) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}
