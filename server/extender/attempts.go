package extender

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// Results of an attempt to schedule a pod, as they stand in metrics. The first three are
// kube-scheduler's.
const (
	attemptScheduled     = "scheduled"     // bound
	attemptUnschedulable = "unschedulable" // filter found no node
	attemptError         = "error"
	attemptAbandoned     = "abandoned" // filter found a node, and kube-scheduler asked again without binding
	attemptKept          = "kept"      // bind held a member of a gang for as long as a call may be: it keeps its place for another attempt
)

// maxAttempts bounds how many attempts are followed at once: those between filter and the
// end of bind. Of one that is forgotten only the end is counted.
const maxAttempts = 20_000

// attempts counts by profile the outcomes of kube-scheduler's attempts to schedule pods, as far as the calls of
// verbs show: one begins with filter and ends with it if no node fits, else with bind. It is safe for
// concurrent use.
type attempts struct {
	open       *lru.Cache // of types.UID → attempt
	tracer     tracer
	results    *prometheus.CounterVec
	endToEnd   *prometheus.HistogramVec
	algorithm  *prometheus.HistogramVec
	preemption *prometheus.HistogramVec
	binding    *prometheus.HistogramVec
}

// attempt is an attempt whose filter call found nodes.
type attempt struct {
	profile   string
	started   time.Time
	algorithm time.Duration // filter, and prioritize if it was called
	trace     trace.Span    // nil when tracing is off
}

func newAttempts(r prometheus.Registerer, traces trace.TracerProvider) *attempts {
	histogram := func(name, help string, first float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(first, 2, 16),
		}, append([]string{"profile"}, labels...))
	}
	a := &attempts{
		open: lru.New(maxAttempts), tracer: newTracer(traces),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_schedule_attempts_total",
			Help: "Attempts of kube-scheduler to schedule a pod, by profile and result: scheduled, unschedulable, error, abandoned when it " +
				"asked again without binding or the pod was gone, or kept when a member of a gang was held for as long as a call may be and " +
				"comes again. " +
				"The profile is empty for pods whose scheduler name no profile has.",
		}, []string{"profile", "result"}),
		endToEnd: histogram(
			"muster_e2e_scheduling_duration_seconds",
			"Time from the filter call of an attempt to its end: for one that is scheduled, to the end of bind, in which members of gangs are held.",
			0.001,
			"result",
		),
		algorithm: histogram("muster_scheduling_algorithm_duration_seconds",
			"Time that an attempt spent in filter and prioritize together.", 0.00005),
		preemption: histogram("muster_scheduling_algorithm_preemption_evaluation_seconds",
			"Time to look on which nodes victims would make room for a pod.", 0.00005),
		binding: histogram("muster_binding_duration_seconds",
			"Time that the API server took to bind a pod.", 0.001),
	}
	r.MustRegister(a.results, a.endToEnd, a.algorithm, a.preemption, a.binding)
	return a
}

// answered follows a call of a verb that started at a time and has taken a while. One about a stranger is no
// attempt of kube-scheduler's, and nothing is remembered of it.
func (a *attempts) answered(verb string, q *request, found *report, started time.Time, took time.Duration) {
	if found.stranger {
		return
	}
	uid, ended := q.named.UID, started.Add(took)
	switch verb {
	case "filter":
		if before, open := a.take(uid); open {
			a.end(before, attemptAbandoned, started)
		}
		now := a.begin(q, found, started)
		now.algorithm = took
		a.tracer.verb(now.trace, verb, q, found, started, ended)
		switch found.outcome {
		case outcomeOK:
			a.open.Add(uid, now)
		case outcomeUnschedulable:
			a.end(now, attemptUnschedulable, ended)
		default:
			a.end(now, attemptError, ended)
		}
	case "prioritize":
		if now, open := a.open.Get(uid); open {
			now := now.(attempt)
			now.algorithm += took
			a.tracer.verb(now.trace, verb, q, found, started, ended)
			a.open.Add(uid, now)
		}
	case "preempt":
		a.preemption.WithLabelValues(found.profile()).Observe(took.Seconds())
	case "bind":
		now, open := a.take(uid)
		if !open {
			now = a.begin(q, found, started)
		}
		a.tracer.verb(now.trace, verb, q, found, started, ended)
		if found.binding > 0 {
			now.observe(a.binding.WithLabelValues(now.profile), found.binding)
		}
		a.end(now, resultOf(found.outcome), ended)
	}
}

// resultOf returns the result of an attempt that ends with a bind call of an outcome.
func resultOf(outcome string) string {
	switch outcome {
	case outcomeOK:
		return attemptScheduled
	case outcomeKept:
		return attemptKept
	case outcomeGone:
		return attemptAbandoned
	default:
		return attemptError
	}
}

// begin begins an attempt with a call.
func (a *attempts) begin(q *request, found *report, started time.Time) attempt {
	return attempt{profile: found.profile(), started: started, trace: a.tracer.begin(q, found, started)}
}

func (a *attempts) take(uid types.UID) (attempt, bool) {
	taken, open := a.open.Get(uid)
	if !open {
		return attempt{}, false
	}
	a.open.Remove(uid)
	return taken.(attempt), true
}

// end counts an attempt. How long one took that was abandoned is not known: by now it had
// come to nothing.
func (a *attempts) end(of attempt, result string, ended time.Time) {
	a.tracer.end(of.trace, result, ended)
	a.results.WithLabelValues(of.profile, result).Inc()
	if result != attemptAbandoned {
		of.observe(a.endToEnd.WithLabelValues(of.profile, result), ended.Sub(of.started))
	}
	if of.algorithm > 0 {
		of.observe(a.algorithm.WithLabelValues(of.profile), of.algorithm)
	}
}

// observe counts a time of the attempt. If the attempt has a trace, that is the exemplar: in OpenMetrics, a bucket leads to
// the trace of the last attempt that fell into it.
func (of *attempt) observe(in prometheus.Observer, took time.Duration) {
	with, able := in.(prometheus.ExemplarObserver)
	if of.trace == nil || !of.trace.SpanContext().IsSampled() || !able {
		in.Observe(took.Seconds())
		return
	}
	with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": of.trace.SpanContext().TraceID().String()})
}

// pass returns once the lock was free.
func (a *attempts) pass() { a.open.Get("") }

// tracer makes a trace of each attempt of kube-scheduler to schedule a pod, as far as its
// calls show it, from filter to the end of bind. Spans are made when a call has been
// answered, with the times that were measured anyway. The zero tracer makes none.
type tracer struct{ otel trace.Tracer }

func newTracer(provider trace.TracerProvider) tracer {
	if provider == nil {
		return tracer{}
	}
	return tracer{provider.Tracer("muster.dev/muster/server")}
}

// begin begins the trace of an attempt.
func (t tracer) begin(q *request, found *report, started time.Time) trace.Span {
	if t.otel == nil {
		return nil
	}
	_, span := t.otel.Start(
		context.Background(), "schedule pod", trace.WithNewRoot(), trace.WithTimestamp(started), trace.WithSpanKind(trace.SpanKindServer),
	)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("k8s.namespace.name", q.named.Namespace),
			attribute.String("k8s.pod.name", q.named.Name),
			attribute.String("k8s.pod.uid", string(q.named.UID)),
			attribute.String("muster.profile", found.profile()),
			attribute.String("muster.class", found.class()),
		)
	}
	return span
}

// verb adds a call to the trace of an attempt.
func (t tracer) verb(attempt trace.Span, name string, q *request, found *report, started, ended time.Time) {
	if attempt == nil || !attempt.IsRecording() {
		return
	}
	ctx := trace.ContextWithSpan(context.Background(), attempt)
	ctx, span := t.otel.Start(ctx, name, trace.WithTimestamp(started))
	span.SetAttributes(attribute.String("muster.outcome", found.outcome))
	switch name {
	case "filter":
		span.SetAttributes(attribute.Int("muster.nodes", len(q.nodes.indexes)))
	case "bind":
		span.SetAttributes(attribute.String("k8s.node.name", q.node))
		if found.binding > 0 { // what comes before it is the time that a gang was waited for
			_, bound := t.otel.Start(ctx, "API server binds", trace.WithTimestamp(ended.Add(-found.binding)))
			bound.End(trace.WithTimestamp(ended))
		}
	}
	span.End(trace.WithTimestamp(ended))
}

// end ends the trace of an attempt.
func (t tracer) end(attempt trace.Span, result string, ended time.Time) {
	if attempt == nil {
		return
	}
	attempt.SetAttributes(attribute.String("muster.result", result))
	if result == attemptError {
		attempt.SetStatus(codes.Error, "")
	}
	attempt.End(trace.WithTimestamp(ended))
}
