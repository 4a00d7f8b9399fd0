package extender

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"muster.dev/muster/server/body"
)

// verb is a verb that kube-scheduler may ask for.
type verb struct {
	name, about string
	// serve answers the call. It writes c.reply, or returns an error: a
	// statusError as it says, any other as status 500.
	serve func(*call) error
	// small says that the body is small, and that the call may be held for long.
	small bool
}

// calls serves verbs over HTTP: everything about a call that is not its meaning.
type calls struct {
	log      *slog.Logger
	metrics  *metrics
	attempts *attempts
	bodies   *body.Readers
	ready    func() error // why calls cannot be answered yet, nil when they can
}

func newCalls(log *slog.Logger, r prometheus.Registerer, traces trace.TracerProvider, bodies *body.Readers, ready func() error) *calls {
	return &calls{log: log, metrics: newMetrics(r), attempts: newAttempts(r, traces), bodies: bodies, ready: ready}
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
		c.begin(r.Context(), reader.Budget.Share())

		done := v.metrics.inFlight.WithLabelValues(verb.name)
		done.Inc()
		defer done.Dec()

		err := v.run(verb, reader, c, w, r)
		if err == nil {
			err = v.open() // still: what is answered keeps room, and that is for the leader to do
		}
		status := c.statusOf(err)
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
			v.log.Debug("verb answered", "verb", verb.name, "pod", c.args.Pod.Namespace+"/"+c.args.Pod.Name, "profile", c.profile(),
				"class", c.class(), "outcome", c.outcome, "status", status, "bytesIn", c.received, "bytesOut", len(c.reply.Buf), "elapsed", elapsed)
		}
	}
}

// run reads the body and calls the verb. A panic of the verb is an error of this
// call alone.
func (v *calls) run(verb verb, reader *body.Reader, c *call, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("verb panicked", "verb", verb.name, "pod", c.args.Pod.Namespace+"/"+c.args.Pod.Name, "profile", c.profile(),
				"panic", p, "stack", string(debug.Stack()))
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

// open says why calls cannot be answered, nil when they can.
func (v *calls) open() error {
	if err := v.ready(); err != nil {
		return &statusError{status: http.StatusServiceUnavailable, outcome: outcomeNotReady, err: err}
	}
	return nil
}
