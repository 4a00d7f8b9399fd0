package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/component-base/tracing"
	tracingv1 "k8s.io/component-base/tracing/api/v1"

	"muster.dev/muster/api/config/v1alpha2"
)

// newTraces sends spans to the collector of the configuration; nil when there is none.
func newTraces(log *slog.Logger, c v1alpha2.Tracing, version string) (tracing.TracerProvider, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	provider, err := tracing.NewProvider(context.Background(),
		&tracingv1.TracingConfiguration{Endpoint: &c.Endpoint, SamplingRatePerMillion: &c.SamplingRatePerMillion}, nil,
		[]resource.Option{resource.WithAttributes(
			attribute.String("service.name", "muster"), attribute.String("service.version", version), attribute.String("service.instance.id", host),
		)})
	if err != nil {
		return nil, fmt.Errorf("tracing.endpoint: %w", err)
	}
	// OpenTelemetry has one place for what goes wrong behind its back, as sending.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "endpoint", c.Endpoint, "err", err) }))
	return provider, nil
}

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
func (t tracer) begin(c *call, started time.Time) trace.Span {
	if t.otel == nil {
		return nil
	}
	_, span := t.otel.Start(
		context.Background(), "schedule pod", trace.WithNewRoot(), trace.WithTimestamp(started), trace.WithSpanKind(trace.SpanKindServer),
	)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("k8s.namespace.name", c.args.Pod.Namespace),
			attribute.String("k8s.pod.name", c.args.Pod.Name),
			attribute.String("k8s.pod.uid", string(c.args.Pod.UID)),
			attribute.String("muster.profile", c.profile),
			attribute.String("muster.class", c.class()),
		)
	}
	return span
}

// verb adds a call to the trace of an attempt.
func (t tracer) verb(attempt trace.Span, name string, c *call, started, ended time.Time) {
	if attempt == nil || !attempt.IsRecording() {
		return
	}
	ctx := trace.ContextWithSpan(context.Background(), attempt)
	ctx, span := t.otel.Start(ctx, name, trace.WithTimestamp(started))
	span.SetAttributes(attribute.String("muster.outcome", c.outcome))
	switch name {
	case "filter":
		span.SetAttributes(attribute.Int("muster.nodes", len(c.candidates.indexes)))
	case "bind":
		span.SetAttributes(attribute.String("k8s.node.name", c.node))
		if c.binding > 0 { // what comes before it is the time that a gang was waited for
			_, bound := t.otel.Start(ctx, "API server binds", trace.WithTimestamp(ended.Add(-c.binding)))
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
