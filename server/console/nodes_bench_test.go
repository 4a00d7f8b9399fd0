package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
)

// BenchmarkNodesPage answers, for 5,000 measured nodes, the request that the page at / makes every
// other second: plain, as gzip, and when nothing has changed.
func BenchmarkNodesPage(b *testing.B) {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	offered := corev1.ResourceList{
		"cpu":            resource.MustParse("32"),
		"memory":         resource.MustParse("128Gi"),
		"pods":           resource.MustParse("110"),
		"nvidia.com/gpu": resource.MustParse("8"),
	}
	for i := range 5000 {
		name := fmt.Sprintf("worker-%d", i)
		if err := c.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: offered}}); err != nil {
			b.Fatal(err)
		}
		c.SetUsage(name, &cluster.Usage{Updated: time.Unix(int64(i), 0), Node: cluster.Resources{MilliCPU: int64(i), Memory: int64(i) << 20}})
	}
	handler := inspect.Handler(New(Options{Cluster: c}).debugNodes)
	ask := func(header ...string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(http.MethodGet, "/debug/nodes?format=json", nil)
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer
	}
	etag := ask().Header().Get("ETag")
	for name, header := range map[string][]string{"plain": nil, "gzip": {"Accept-Encoding", "gzip"}, "unchanged": {"If-None-Match", etag}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(ask(header...).Body.Len()), "bytes")
			}
		})
	}
}
