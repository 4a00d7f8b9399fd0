package extender

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

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
