package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/go-faster/jx"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/wire"
)

// Outcomes of a call, as they stand in metrics.
const (
	outcomeOK            = "ok"
	outcomeUnschedulable = "unschedulable" // no node fits
	outcomeError         = "error"         // answered with an error of the verb
	outcomeBadRequest    = "bad_request"
	outcomeTooLarge      = "too_large"
	outcomeBusy          = "busy" // other calls hold too much memory
	outcomeNotReady      = "not_ready"
	outcomeCanceled      = "canceled" // the caller went away
	outcomePanic         = "panic"
)

// call is one call of a verb, with memory that the next one uses again.
type call struct {
	ctx  context.Context //nolint:containedctx // a call lives as long as its request
	body []byte
	// reply is the JSON answer that the verb writes.
	reply jx.Writer
	// profile and outcome label the metrics of the call.
	profile, outcome string
	// subject is the pod that the call is about and store that of its profile, nil while they are
	// not known.
	subject *cluster.Pod
	store   *predicates.VerdictStore
	// stranger says that the watch does not show the pod.
	stranger bool
	// node is the one to bind to, and binding how long the API server took, 0 when it was not
	// asked.
	node    string
	binding time.Duration

	buffer     []byte
	share      body.Share // of the memory for bodies
	received   int        // bytes of the body
	decoder    jx.Decoder
	args       wire.Args
	candidates candidates
	rejected   []rejection
	fitting    []int32 // the candidates that are ranked
	places     []int   // and where they stand in the request
	totals     []int64 // and their totals
	left       []int32 // nodes that plans of the rescheduler keep the pod away from
}

// statusError is an error that is answered with an HTTP status other than 200,
// which kube-scheduler takes as the failure of the call.
type statusError struct {
	status  int
	outcome string
	err     error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

func badRequest(err error) error {
	return &statusError{status: http.StatusBadRequest, outcome: outcomeBadRequest, err: err}
}

// verb turns a function of a call into an HTTP handler.
type verb struct {
	name string
	// serve answers the call. It writes c.reply, or returns an error: a
	// statusError as it says, any other as status 500.
	serve func(*call) error
	// small says that the body is small, and that the call may be held for long.
	small bool
}

// verbs serves verbs over HTTP: everything about a call that is not its meaning.
type verbs struct {
	log      *slog.Logger
	metrics  *metrics
	attempts *attempts
	bodies   *bodies
	ready    func() error // why calls cannot be answered yet, nil when they can
}

func newVerbs(log *slog.Logger, r prometheus.Registerer, traces trace.TracerProvider, bodies *bodies, ready func() error) *verbs {
	return &verbs{log: log, metrics: newMetrics(r), attempts: newAttempts(r, traces), bodies: bodies, ready: ready}
}

func (v *verbs) handler(verb verb) http.HandlerFunc {
	reader := &v.bodies.any
	if verb.small {
		reader = &v.bodies.small
	}
	calls := &sync.Pool{New: func() any { return new(call) }} // of one verb: those of bind stay small
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c, _ := calls.Get().(*call)
		defer c.recycle(calls)
		c.ctx, c.profile, c.outcome, c.share, c.received = r.Context(), "", outcomeOK, reader.Budget.Share(), 0
		c.body, c.args.Pod, c.node, c.binding, c.left = nil, wire.Pod{}, "", 0, c.left[:0]
		c.subject, c.store, c.stranger = nil, nil, false
		c.reply.Reset()

		done := v.metrics.inFlight.WithLabelValues(verb.name)
		done.Inc()
		defer done.Dec()

		err := v.run(verb, reader, c, w, r)
		if err == nil {
			err = v.open() // still: what is answered keeps room, and that is for the leader to do
		}
		status := c.judge(err)
		v.attempts.answered(verb.name, c, start, time.Since(start))
		if err != nil {
			http.Error(w, err.Error(), status)
		} else {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(c.reply.Buf)))
			_, _ = w.Write(c.reply.Buf) // the caller may be gone
		}
		elapsed := time.Since(start)
		v.metrics.duration.WithLabelValues(verb.name, c.outcome).Observe(elapsed.Seconds())
		if v.log.Enabled(r.Context(), slog.LevelDebug) {
			v.log.Debug("verb answered", "verb", verb.name, "pod", c.args.Pod.Namespace+"/"+c.args.Pod.Name, "profile", c.profile,
				"class", c.class(), "outcome", c.outcome, "status", status, "bytesIn", c.received, "bytesOut", len(c.reply.Buf), "elapsed", elapsed)
		}
	}
}

// recycle ends a call, whose memory another one may use unless it is much.
func (c *call) recycle(calls *sync.Pool) {
	c.share.GiveBack()
	if cap(c.buffer) <= keepBytes && cap(c.reply.Buf) <= keepBytes {
		calls.Put(c)
	}
}

// hold has the memory for bodies account for what is about to be decoded.
func (c *call) hold(bytes int64) error {
	if err := c.share.Take(bytes); err != nil {
		return refusedBody(err)
	}
	return nil
}

// letGo gives the body back, of which nothing is needed any more: the call may be held for long.
func (c *call) letGo() {
	c.body, c.buffer = nil, nil
	c.share.GiveBack()
}

// run reads the body and calls the verb. A panic of the verb is an error of this
// call alone.
func (v *verbs) run(verb verb, reader *body.Reader, c *call, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			v.log.Error(
				"verb panicked",
				"verb",
				verb.name,
				"pod",
				c.args.Pod.Namespace+"/"+c.args.Pod.Name,
				"profile",
				c.profile,
				"panic",
				p,
				"stack",
				string(debug.Stack()),
			)
			err = &statusError{status: http.StatusInternalServerError, outcome: outcomePanic, err: fmt.Errorf("panic: %v", p)}
		}
	}()
	if err := v.open(); err != nil {
		return err
	}
	if c.body, err = reader.Read(w, r, c.buffer, &c.share); err != nil {
		return refusedBody(err)
	}
	c.buffer, c.received = c.body, len(c.body)
	return verb.serve(c)
}

// open is why calls cannot be answered, nil when they can.
func (v *verbs) open() error {
	if err := v.ready(); err != nil {
		return &statusError{status: http.StatusServiceUnavailable, outcome: outcomeNotReady, err: err}
	}
	return nil
}

// class is the hash of the equivalence class that the pod is of, as at /debug/equivalence; ""
// when it has none, or is not known.
func (c *call) class() string {
	if c.subject == nil || c.store == nil {
		return ""
	}
	return c.store.HashOf(c.subject)
}

// judge returns the HTTP status of a call that ended with an error or nil, and notes the
// outcome that an error stands for.
func (c *call) judge(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		c.outcome = s.outcome
		return s.status
	}
	c.outcome = outcomeError
	if c.ctx.Err() != nil {
		c.outcome = outcomeCanceled
	}
	return http.StatusInternalServerError
}
