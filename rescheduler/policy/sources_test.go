package policy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/usage"
)

// TestANodeWhoseCPUIsUsedUpIsHotWhicheverSourceMeasuresIt has 9 of 10 cores be used, by three looks a minute apart.
func TestANodeWhoseCPUIsUsedUpIsHotWhicheverSourceMeasuresIt(t *testing.T) {
	for _, of := range []config.LoadSource{config.LoadSourceNodeMetric, config.LoadSourceMetrics, config.LoadSourcePrometheus} {
		t.Run(string(of), func(t *testing.T) {
			var at atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/apis/metrics.k8s.io/v1beta1/nodes":
					fmt.Fprintf(w, `{"items": [{"metadata": {"name": "a"}, "timestamp": %q, "window": "20s", "usage": {"cpu": "9", "memory": "1"}}]}`,
						time.Unix(at.Load(), 0).UTC().Format(time.RFC3339))
				case "/apis/metrics.k8s.io/v1beta1/pods":
					fmt.Fprint(w, `{"items": []}`)
				default: // of Prometheus: of memory 9 bytes are used
					fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "vector", "result": [
						{"metric": {"instance": "a"}, "value": [%d, "9"]}]}}`, at.Load())
				}
			}))
			defer server.Close()
			s, now, store := newScene(t), clocktesting.NewFakeClock(noon()), nodemetric.NewStore()
			s.node("a", "10", time.Hour)
			s.config.Load.Source, s.config.Load.Prometheus.URL = of, server.URL
			feed, err := usage.New(usage.Options{
				Logger: s.load.Logger, Clock: now, Registerer: prometheus.NewRegistry(), Cluster: s.cluster, Load: &s.config.Load,
				RESTConfig: &rest.Config{Host: server.URL}, NodeMetrics: store,
			})
			if err != nil {
				t.Fatal(err)
			}
			hot := s.hot()
			for range 3 {
				now.Step(time.Minute)
				at.Store(now.Now().Unix())
				if of == config.LoadSourceNodeMetric {
					report(t, store, now.Now())
				}
				feed.Look(t.Context())
				hot.Observe(s.cluster.Snapshot(), never)
			}
			if diff := cmp.Diff([]string{"a"}, hot.names(s.cluster.Snapshot())); diff != "" {
				t.Errorf("hot nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// report has the watch show a NodeMetric of node a.
func report(t *testing.T, store *nodemetric.Store, at time.Time) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": "a"},
		"status": map[string]any{"updateTime": at.Format(time.RFC3339), "nodeMetric": map[string]any{
			"nodeUsage": map[string]any{"resources": map[string]any{"cpu": "9", "memory": "1"}},
		}},
	}}
	handler := store.Handler(func(error) {})
	observed, err := handler.Trim(object)
	if err != nil {
		t.Fatal(err)
	}
	handler.Set(observed.(metav1.Object))
}
