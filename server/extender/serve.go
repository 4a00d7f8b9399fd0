package extender

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"muster.dev/muster/server/body"
)

// verb is a verb that kube-scheduler may ask for.
type verb struct {
	name, about string
	// read reads a body into a request, in the memory of its call. What it has read by then stands also if it fails.
	read func(body []byte, q *request, m *memory) error
	// answer writes the answer to a request into m.reply, and returns what it found; or it returns an error: a
	// statusError as it says, any other as status 500.
	answer func(q *request, m *memory) (report, error)
	// small says that the body is small, and that the call may be held for long.
	small bool
}

// calls serves verbs over HTTP: everything about a call that is not its meaning.
type calls struct {
	log      *slog.Logger
	metrics  *metrics
	attempts *attempts
	bodies   *body.Readers
	ready    func() error                // why calls cannot be answered yet, nil when they can
	await    func(context.Context) error // the same, once calls can be answered or cannot be soon
}

// newCalls returns calls that do not wait until they can be answered.
func newCalls(log *slog.Logger, r prometheus.Registerer, traces trace.TracerProvider, bodies *body.Readers, ready func() error) *calls {
	await := func(context.Context) error { return ready() }
	return &calls{log: log, metrics: newMetrics(r), attempts: newAttempts(r, traces), bodies: bodies, ready: ready, await: await}
}

// handler turns a verb into an HTTP handler.
func (v *calls) handler(verb verb) http.HandlerFunc {
	reader := &v.bodies.Any
	if verb.small {
		reader = &v.bodies.Small
	}
	pool := &sync.Pool{New: func() any { return new(call) }} // of one verb: calls of bind stay small
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c, _ := pool.Get().(*call)
		defer c.recycle(pool)
		c.begin(reader.Budget.Share())

		done := v.metrics.inFlight.WithLabelValues(verb.name)
		done.Inc()
		defer done.Dec()

		found, err := v.run(&verb, reader, c, w, r)
		if err == nil {
			err = v.open() // still: what is answered keeps room, and that is for the leader to do
		}
		status := http.StatusOK
		if err != nil {
			status, found.outcome = failure(r.Context(), err)
		}
		v.attempts.answered(verb.name, &c.request, &found, start, time.Since(start))
		if err != nil {
			http.Error(w, err.Error(), status)
		} else {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(c.memory.reply.Buf)))
			_, _ = w.Write(c.memory.reply.Buf) // the caller may be gone
		}
		elapsed := time.Since(start)
		v.metrics.observe(verb.name, found.outcome, elapsed)
		if v.log.Enabled(r.Context(), slog.LevelDebug) {
			v.log.Debug("verb answered", "verb", verb.name, "pod", c.request.fullName(), "profile", found.profile(), "class", found.class(),
				"outcome", found.outcome, "status", status, "bytesIn", c.received, "bytesOut", len(c.memory.reply.Buf), "elapsed", elapsed)
		}
	}
}

// run reads the body and calls the verb. A panic of the verb is an error of this
// call alone.
func (v *calls) run(verb *verb, reader *body.Reader, c *call, w http.ResponseWriter, r *http.Request) (found report, err error) {
	defer func() {
		if p := recover(); p != nil {
			found.subject = c.request.subject
			v.log.Error("verb panicked", "verb", verb.name, "pod", c.request.fullName(), "profile", found.profile(),
				"panic", p, "stack", string(debug.Stack()))
			err = &statusError{status: http.StatusInternalServerError, outcome: outcomePanic, err: fmt.Errorf("panic: %v", p)}
		}
	}()
	if err := v.await(r.Context()); err != nil {
		return report{}, notReady(err)
	}
	body, err := reader.Read(w, r, c.memory.body, &c.memory.share)
	if err != nil {
		return report{}, refusedBody(err)
	}
	return c.serve(r.Context(), verb, body)
}

// open says why calls cannot be answered, nil when they can.
func (v *calls) open() error {
	if err := v.ready(); err != nil {
		return notReady(err)
	}
	return nil
}

func notReady(err error) error {
	return &statusError{status: http.StatusServiceUnavailable, outcome: outcomeNotReady, err: err}
}

// call is one call of a verb: what is asked, and the memory in which it is answered, which the next call uses again.
type call struct {
	request  request
	memory   memory
	received int // bytes of the body
}

// begin makes the call a new one. The call before leaves only its memory.
func (c *call) begin(share body.Share) {
	c.request, c.received, c.memory.share = request{}, 0, share
	c.memory.reply.Reset()
}

// serve has a verb read a body and answer it.
func (c *call) serve(ctx context.Context, verb *verb, body []byte) (found report, err error) {
	c.memory.body, c.received = body, len(body)
	c.request = request{ctx: ctx}
	if err = verb.read(body, &c.request, &c.memory); err != nil {
		return report{subject: c.request.subject}, err
	}
	if verb.small {
		c.memory.letGo()
	}
	return verb.answer(&c.request, &c.memory)
}

// recycle ends a call, whose memory another one may use unless it is much.
func (c *call) recycle(calls *sync.Pool) {
	c.memory.share.GiveBack()
	if cap(c.memory.body) <= keepBytes && cap(c.memory.reply.Buf) <= keepBytes {
		calls.Put(c)
	}
}

// Outcomes of a call, as they stand in metrics.
const (
	outcomeOK            = "ok"
	outcomeUnschedulable = "unschedulable" // no node fits
	outcomeError         = "error"         // answered with an error of the verb
	outcomeKept          = "kept"          // a member of a gang was held for as long as a call may be, and is to come again
	outcomeGone          = "gone"          // the pod was deleted before it could be bound
	outcomeBadRequest    = "bad_request"
	outcomeTooLarge      = "too_large"
	outcomeBusy          = "busy" // other calls hold too much memory
	outcomeNotReady      = "not_ready"
	outcomeCanceled      = "canceled" // the caller went away
	outcomePanic         = "panic"
)

// failure returns the HTTP status of a call that ended with an error, and its outcome.
func failure(ctx context.Context, err error) (status int, outcome string) {
	if s, ok := errors.AsType[*statusError](err); ok {
		return s.status, s.outcome
	}
	if ctx.Err() != nil {
		return http.StatusInternalServerError, outcomeCanceled
	}
	return http.StatusInternalServerError, outcomeError
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

// noProfile returns the answer about a pod that no profile serves, where the verb has no field for an error.
func noProfile(why string) error {
	return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: errors.New(why)}
}

// refusedBody returns the answer to a request whose body was not read, or may not be decoded.
func refusedBody(err error) error {
	refusal, is := errors.AsType[*body.RefusalError](err)
	if !is {
		return badRequest(err)
	}
	outcome := map[int]string{http.StatusRequestEntityTooLarge: outcomeTooLarge, http.StatusServiceUnavailable: outcomeBusy}[refusal.Status]
	if outcome == "" {
		outcome = outcomeBadRequest
	}
	return &statusError{status: refusal.Status, outcome: outcome, err: refusal.Err}
}

type metrics struct {
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	// The same for people: how many calls were answered, and how many of them failed.
	answered, failed atomic.Int64
}

// observe counts a call.
func (m *metrics) observe(verb, outcome string, elapsed time.Duration) {
	m.duration.WithLabelValues(verb, outcome).Observe(elapsed.Seconds())
	m.answered.Add(1)
	switch outcome {
	case outcomeOK, outcomeUnschedulable, outcomeKept, outcomeGone, outcomeCanceled:
	default:
		m.failed.Add(1)
	}
}

// Answered returns how many calls were answered since the process began, and how many of them failed: not as they found no
// node, were to come again, or came too late.
func (e *Extender) Answered() (calls, failed int) {
	return int(e.calls.metrics.answered.Load()), int(e.calls.metrics.failed.Load())
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_verb_duration_seconds",
			Help: "Time to answer a call of kube-scheduler, by verb and outcome, over HTTP and all profiles.",
			// 50 µs to 26 s: filter on a few nodes to a bind against a slow API server.
			Buckets: prometheus.ExponentialBuckets(0.00005, 2, 20),
		}, []string{"verb", "outcome"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_verb_calls_in_flight",
			Help: "Calls of kube-scheduler that are being answered, by verb.",
		}, []string{"verb"}),
	}
	r.MustRegister(m.duration, m.inFlight)
	return m
}
