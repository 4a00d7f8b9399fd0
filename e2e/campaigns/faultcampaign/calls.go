package faultcampaign

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/relay"
)

// What happens to calls to the API server.
const (
	apiConflict    Fault = "409"
	apiBusy        Fault = "429"
	APIError       Fault = "500"
	apiUnavailable Fault = "503"
	apiSilent      Fault = "no answer"
	apiLost        Fault = "answer of the API server lost"
	APIDone        Fault = "500 after it was done"
)

// APIFaults are all that may happen to calls to the API server.
func APIFaults() []Fault {
	return []Fault{apiConflict, apiBusy, APIError, apiUnavailable, apiSilent, apiLost, APIDone}
}

// answers returns the API server's words in trouble, for the faults that come with words.
func answers() map[Fault]relay.Decide {
	some := schema.GroupResource{Resource: "things"}
	return map[Fault]relay.Decide{
		apiConflict:    relay.Failure(apierrors.NewConflict(some, "p", errors.New("it changed"))),
		apiBusy:        relay.Failure(apierrors.NewTooManyRequests("later", 1)),
		APIError:       relay.Failure(apierrors.NewInternalError(errors.New("etcd is away"))),
		apiUnavailable: relay.Failure(apierrors.NewServiceUnavailable("starting")),
	}
}

// Calls spoils the calls of a run until its trouble is over. Its methods are safe for
// concurrent use.
type Calls struct {
	trouble Trouble
	calm    context.Context //nolint:containedctx // ends with the trouble

	mu   sync.Mutex
	seen map[Call]int
	made map[Fault]int
}

// NewCalls are none yet. The trouble is over with the context.
func NewCalls(calm context.Context, t Trouble) *Calls {
	return &Calls{trouble: t, calm: calm, seen: map[Call]int{}, made: map[Fault]int{}}
}

// Calm says that the trouble is over.
func (c *Calls) Calm() bool { return c.calm.Err() != nil }

// Next draws what happens to a call.
func (c *Calls) Next(v Verb, about string) Spoiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := Call{v, about}
	before := c.seen[call]
	c.seen[call]++
	if c.Calm() {
		return Spoiled{}
	}
	s := c.trouble.Of(call, before)
	if s.Fault != "" {
		c.made[Fault(v)+": "+s.Fault]++
	}
	return s
}

// Faults are how often each kind of trouble was made.
func (c *Calls) Faults() map[Fault]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.made)
}

// Answer answers a call to the API server to which a fault happens, or nothing. A silence ends with
// the trouble, or when it has lasted for so long.
func (c *Calls) Answer(f Fault, silence time.Duration, w http.ResponseWriter, r *http.Request, pass http.Handler) {
	if answer := answers()[f]; answer != nil {
		answer(w, r, pass)
		return
	}
	switch f {
	case apiSilent:
		_, _ = relay.Body(r) // else it is not noticed when the caller leaves
		quiet, cancel := context.WithTimeout(c.calm, silence)
		defer cancel()
		select {
		case <-quiet.Done():
		case <-r.Context().Done():
		}
		relay.Cut()
	case apiLost:
		w = httptest.NewRecorder()
		defer relay.Cut()
	case APIDone:
		pass.ServeHTTP(httptest.NewRecorder(), r)
		answers()[APIError](w, r, pass)
		return
	default:
	}
	pass.ServeHTTP(w, r)
}

// Stream is the answer to a watch, which goes on only as Before returns.
type Stream struct {
	http.ResponseWriter
	Before func()
}

// Unwrap is for [http.ResponseController].
func (s *Stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements [io.Writer].
func (s *Stream) Write(text []byte) (int, error) {
	s.Before()
	return s.ResponseWriter.Write(text)
}
