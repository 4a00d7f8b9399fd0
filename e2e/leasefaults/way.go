package leasefaults

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/relay"
)

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

// happens is what happens to requests.
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

// meets is what happens to a request, nil for nothing.
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
		w = &stream{ResponseWriter: w, way: y, left: r.Context()}
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

// stream is the answer to a watch, which stands still while watches meet silence, and comes late while
// they are.
type stream struct {
	http.ResponseWriter
	way  *way
	left context.Context //nolint:containedctx // of the request that it answers
}

// Unwrap is for [http.ResponseController].
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements [io.Writer].
func (s *stream) Write(text []byte) (int, error) {
	for trouble := s.way.meets(watches); trouble != nil && s.left.Err() == nil; trouble = s.way.meets(watches) {
		if trouble.happens != silence {
			faultcampaign.Pause(s.left, trouble.delay)
			break
		}
		wait(s.left, trouble.over)
	}
	return s.ResponseWriter.Write(text)
}
