package extender_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// collector takes spans as an OpenTelemetry collector does.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []*tracev1.Span
}

// collect runs a collector until the test ends.
func (c *cluster) collect() *collector {
	c.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	c.Must(err)
	into := &collector{address: listener.Addr().String()}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, into)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			c.Error(err)
		}
	})
	c.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return into
}

// Export implements the service.
func (c *collector) Export(
	_ context.Context, request *collectorv1.ExportTraceServiceRequest,
) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// scheduled are the names of the spans below the trace that ended with a pod's binding; none
// before there is one.
func (c *collector) scheduled(pod string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := func(span *tracev1.Span, key, value string) bool {
		for _, attribute := range span.GetAttributes() {
			if attribute.GetKey() == key && attribute.GetValue().GetStringValue() == value {
				return true
			}
		}
		return false
	}
	at := slices.IndexFunc(c.spans, func(span *tracev1.Span) bool {
		return len(span.GetParentSpanId()) == 0 && has(span, "k8s.pod.name", pod) && has(span, "muster.result", "scheduled")
	})
	if at < 0 {
		return nil
	}
	for _, span := range c.spans {
		if span != c.spans[at] && string(span.GetTraceId()) == string(c.spans[at].GetTraceId()) {
			names = append(names, span.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func TestAPodsWayFromFilterToBindIsOneTrace(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	traces := c.collect()
	c.serveAndSchedule(muster.Options{Text: fmt.Sprintf("tracing: {endpoint: %q, samplingRatePerMillion: 1000000}\n", traces.address)})
	c.createPods(workload.NewPod("p", "1"))
	want := []string{"API server binds", "bind", "filter"}
	c.Eventually("the trace comes to the collector", func() error {
		if got := traces.scheduled("p"); !slices.Equal(got, want) {
			return fmt.Errorf("spans %q, want %q", got, want)
		}
		return nil
	})
}
