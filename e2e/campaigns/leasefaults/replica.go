package leasefaults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
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

// what is a kind of requests to the API server.
type what string

const (
	leases   what = "the lease"
	bindings what = "bindings"
	watches  what = "watches"
	others   what = "other requests"
)

// whatIs says what a request is.
func whatIs(r *http.Request) what {
	switch {
	case strings.Contains(r.URL.Path, "/leases"):
		return leases
	case strings.HasSuffix(r.URL.Path, "/binding"):
		return bindings
	case r.URL.Query().Has("watch"):
		return watches
	}
	return others
}

// everything are all kinds.
func everything() []what { return []what{leases, bindings, watches, others} }

// happens is applied to requests.
type happens string

const (
	silence happens = "no answer"
	slow    happens = "slow on the way to the API server"
	late    happens = "slow on the way back"
	lost    happens = "answer lost"
	busy    happens = "429"
	away    happens = "503"
	stale   happens = "409"
)

// spell is a time of trouble on a way.
type spell struct {
	what    []what
	happens happens
	delay   time.Duration   // if it is slow
	over    context.Context //nolint:containedctx // ends with it
}

// way leads a replica to the API server. Its methods are safe for concurrent use.
type way struct {
	mu     sync.Mutex
	spells map[*spell]bool
	bound  map[string]time.Time // when the answer to a binding was passed on, by pod
}

func newWay() *way { return &way{spells: map[*spell]bool{}, bound: map[string]time.Time{}} }

// trouble has something happen to requests until a context ends, and returns then.
func (y *way) trouble(over context.Context, s spell) {
	s.over = over
	y.mu.Lock()
	y.spells[&s] = true
	y.mu.Unlock()
	<-over.Done()
	y.mu.Lock()
	delete(y.spells, &s)
	y.mu.Unlock()
}

// meets returns the trouble of a request, nil for none.
func (y *way) meets(kind what) *spell {
	y.mu.Lock()
	defer y.mu.Unlock()
	for s := range maps.Keys(y.spells) {
		if slices.Contains(s.what, kind) && s.over.Err() == nil {
			return s
		}
	}
	return nil
}

// boundAt is when the API server's answer to the last binding of a pod went back, zero when none did.
func (y *way) boundAt(pod string) time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.bound[pod]
}

// decide makes the trouble.
func (y *way) decide(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	kind := whatIs(r)
	if kind == watches {
		w = &faultcampaign.Stream{ResponseWriter: w, Before: func() { y.hold(r.Context()) }}
	}
	s := y.meets(kind)
	if s == nil && kind == bindings {
		s = &spell{happens: late} // not at all, but its answer is looked at
	}
	if s == nil {
		pass.ServeHTTP(w, r)
		return
	}
	_, _ = relay.Body(r) // else it is not noticed when the client leaves
	some := schema.GroupResource{Resource: "things"}
	switch s.happens {
	case silence:
		wait(r.Context(), s.over)
		relay.Cut()
	case busy:
		relay.Failure(apierrors.NewTooManyRequests("later", 1))(w, r, pass)
	case away:
		relay.Failure(apierrors.NewServiceUnavailable("starting"))(w, r, pass)
	case stale:
		relay.Failure(apierrors.NewConflict(some, "p", errors.New("it changed")))(w, r, pass)
	case slow:
		faultcampaign.Pause(r.Context(), s.delay)
		if r.Context().Err() != nil {
			relay.Cut()
		}
		pass.ServeHTTP(w, r)
	case lost:
		pass.ServeHTTP(httptest.NewRecorder(), r)
		relay.Cut()
	case late:
		y.answerLate(s.delay, w, r, pass)
	}
}

// answerLate passes a request on, and its answer back after a while.
func (y *way) answerLate(delay time.Duration, w http.ResponseWriter, r *http.Request, pass http.Handler) {
	if whatIs(r) == watches {
		faultcampaign.Pause(r.Context(), delay)
		pass.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	pass.ServeHTTP(answer, r)
	faultcampaign.Pause(r.Context(), delay)
	if pod, is := strings.CutSuffix(r.URL.Path, "/binding"); is && answer.Code < http.StatusMultipleChoices {
		y.mu.Lock()
		y.bound[pod[strings.LastIndex(pod, "/")+1:]] = time.Now()
		y.mu.Unlock()
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = bytes.NewReader(answer.Body.Bytes()).WriteTo(w) // the client may have left
}

// wait returns when one of two contexts ends.
func wait(a, b context.Context) {
	select {
	case <-a.Done():
	case <-b.Done():
	}
}

// hold has the answer to a watch stand still while watches meet silence, and come late while they are.
func (y *way) hold(left context.Context) {
	for trouble := y.meets(watches); trouble != nil && left.Err() == nil; trouble = y.meets(watches) {
		if trouble.happens != silence {
			faultcampaign.Pause(left, trouble.delay)
			return
		}
		wait(left, trouble.over)
	}
}
