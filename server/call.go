package server

import (
	"bytes"
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
	"muster.dev/muster/server/wire"
)

// Outcomes of a call, as they stand in metrics.
const (
	outcomeOK            = "ok"
	outcomeUnschedulable = "unschedulable" // no node fits
	outcomeError         = "error"         // answered with an error of the verb
	outcomeBadRequest    = "bad_request"
	outcomeTooLarge      = "too_large"
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
	// node is the one to bind to, and binding how long the API server took, 0 when it was not
	// asked.
	node    string
	binding time.Duration

	buffer     bytes.Buffer
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
}

// verbs serves verbs over HTTP: everything about a call that is not its meaning.
type verbs struct {
	log          *slog.Logger
	metrics      *metrics
	attempts     *attempts
	maxBodyBytes int64
	bodyTimeout  time.Duration
	ready        func() error // why calls cannot be answered yet, nil when they can
	calls        sync.Pool
}

func newVerbs(log *slog.Logger, r prometheus.Registerer, traces trace.TracerProvider, maxBodyBytes int64, bodyTimeout time.Duration, ready func() error) *verbs {
	return &verbs{
		log: log, metrics: newMetrics(r), attempts: newAttempts(r, traces), maxBodyBytes: maxBodyBytes, bodyTimeout: bodyTimeout, ready: ready,
		calls: sync.Pool{New: func() any { return new(call) }},
	}
}

func (v *verbs) handler(verb verb) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c, _ := v.calls.Get().(*call)
		defer v.recycle(c)
		c.ctx, c.profile, c.outcome = r.Context(), "", outcomeOK
		c.body, c.args.Pod, c.node, c.binding, c.left = nil, wire.Pod{}, "", 0, c.left[:0]
		c.subject, c.store = nil, nil
		c.reply.Reset()

		done := v.metrics.inFlight.WithLabelValues(verb.name)
		done.Inc()
		defer done.Dec()

		err := v.run(verb, c, w, r)
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
				"class", c.class(), "outcome", c.outcome, "status", status, "bytesIn", len(c.body), "bytesOut", len(c.reply.Buf), "elapsed", elapsed)
		}
	}
}

// keepBytes is the largest buffer that is kept for the next call: a request and
// an answer about 15,000 nodes fit well.
const keepBytes = 4 << 20

func (v *verbs) recycle(c *call) {
	if c.buffer.Cap() <= keepBytes && cap(c.reply.Buf) <= keepBytes {
		v.calls.Put(c)
	}
}

// run reads the body and calls the verb. A panic of the verb is an error of this
// call alone.
func (v *verbs) run(verb verb, c *call, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("verb panicked", "verb", verb.name, "pod", c.args.Pod.Namespace+"/"+c.args.Pod.Name, "profile", c.profile, "panic", p, "stack", string(debug.Stack()))
			err = &statusError{status: http.StatusInternalServerError, outcome: outcomePanic, err: fmt.Errorf("panic: %v", p)}
		}
	}()
	if err := v.ready(); err != nil {
		return &statusError{status: http.StatusServiceUnavailable, outcome: outcomeNotReady, err: err}
	}
	if err := v.read(c, w, r); err != nil {
		return err
	}
	return verb.serve(c)
}

// read bounds the body in size and time. The deadline ends with the body, as
// bind may be held for much longer.
func (v *verbs) read(c *call, w http.ResponseWriter, r *http.Request) error {
	limit := v.maxBodyBytes
	if r.ContentLength < 0 { // to grow towards an unknown end costs several times the memory
		limit = min(limit, keepBytes)
	}
	if r.ContentLength > limit {
		return tooLarge(r, limit)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(v.bodyTimeout)) // not supported by test recorders
	c.buffer.Reset()
	if r.ContentLength > 0 {
		c.buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := c.buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if _, more := errors.AsType[*http.MaxBytesError](err); more {
			return tooLarge(r, limit)
		}
		return badRequest(fmt.Errorf("reading the body: %w", err))
	}
	c.body = c.buffer.Bytes()
	_ = control.SetReadDeadline(time.Time{})
	return nil
}

func tooLarge(r *http.Request, limit int64) error {
	err := fmt.Errorf("the body is larger than %d bytes (serving.maxBodyBytes)", limit)
	if r.ContentLength < 0 {
		err = fmt.Errorf("the body is larger than %d bytes, which needs a Content-Length", limit)
	}
	return &statusError{status: http.StatusRequestEntityTooLarge, outcome: outcomeTooLarge, err: err}
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
