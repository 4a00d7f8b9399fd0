package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"k8s.io/component-base/tracing"
	tracingv1 "k8s.io/component-base/tracing/api/v1"

	"muster.dev/muster/api/config"
)

// newTraces sends spans to the collector of the configuration; nil when there is none.
func newTraces(log *slog.Logger, c config.Tracing, version string) (tracing.TracerProvider, error) {
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
