package source

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"muster.dev/muster/cluster"
)

func newMetricsAPI(t *testing.T, answers map[string]string) *MetricsAPI {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, "the server could not find the requested resource", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	client, err := metricsv1beta1.NewForConfig(&rest.Config{Host: server.URL})
	must(t, err)
	return NewMetricsAPI(client)
}

const (
	nodesInMetrics = `{"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [
		{"metadata": {"name": "n"}, "timestamp": "2026-01-02T03:04:05Z", "window": "20s", "usage": {"cpu": "1500500001n", "memory": "2Ki"}}]}`
	podsInMetrics = `{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [
		{"metadata": {"namespace": "default", "name": "p"}, "timestamp": "2026-01-02T03:04:06Z", "window": "15s", "containers": [
			{"name": "a", "usage": {"cpu": "250m", "memory": "1Ki"}}, {"name": "b", "usage": {"cpu": "1", "memory": "1"}}]}]}`
)

func TestMetricsAPI(t *testing.T) {
	got, err := newMetricsAPI(t, map[string]string{
		"/apis/metrics.k8s.io/v1beta1/nodes": nodesInMetrics, "/apis/metrics.k8s.io/v1beta1/pods": podsInMetrics,
	}).Read(t.Context(), nil)
	must(t, err)
	want := &Reading{
		Nodes: map[string]NodeReading{"n": {
			At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local(), Window: 20 * time.Second,
			Used: cluster.Resources{MilliCPU: 1501, Memory: 2048}, // rounded up
		}},
		Pods: map[types.NamespacedName]cluster.Resources{
			{Namespace: "default", Name: "p"}: {MilliCPU: 1250, Memory: 1025}, // both containers
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
}

func TestWhatMetricsServerCannotMeanIsNotMeasured(t *testing.T) {
	item := func(name, usage string) string {
		return `{"metadata": {"name": "` + name + `", "namespace": "d"}, "timestamp": "2026-01-02T03:04:05Z", "usage": ` + usage +
			`, "containers": [{"usage": {"cpu": "1", "memory": "1"}}, {"usage": ` + usage + `}]}`
	}
	all := `{"items": [` + strings.Join([]string{
		item("right", `{"cpu": "0", "memory": "1"}`), item("negative", `{"cpu": "-1", "memory": "1"}`), item("halved", `{"memory": "1"}`),
		item("other-half", `{"cpu": "1"}`), item("empty", `{}`),
	}, ",") + `]}`
	got, err := newMetricsAPI(t, map[string]string{
		"/apis/metrics.k8s.io/v1beta1/nodes": all, "/apis/metrics.k8s.io/v1beta1/pods": all,
	}).Read(t.Context(), nil)
	must(t, err)
	if _, right := got.Nodes["right"]; !right || len(got.Nodes) != 1 {
		t.Errorf("measured nodes %v, want one", got.Nodes)
	}
	if _, right := got.Pods[types.NamespacedName{Namespace: "d", Name: "right"}]; !right || len(got.Pods) != 1 {
		t.Errorf("measured pods %v, want one", got.Pods)
	}
	if diff := cmp.Diff([]Refusal{
		{Of: "negative", Resource: "cpu", Value: "-1", Reason: BelowZero},
		{Of: "halved", Resource: "cpu", Reason: Missing},
		{Of: "other-half", Resource: "memory", Reason: Missing},
		{Of: "empty", Resource: "cpu", Reason: Missing},
		{Of: "empty", Resource: "memory", Reason: Missing},
		{Of: "d/negative", Pod: true, Resource: "cpu", Value: "-1", Reason: BelowZero},
	}, got.Refused); diff != "" {
		t.Errorf("refused, want (-) got (+):\n%s", diff)
	}
}

func TestMetricsAPISaysWhatCannotBeListed(t *testing.T) {
	for what, answers := range map[string]map[string]string{
		"list nodes of metrics.k8s.io: ": {"/apis/metrics.k8s.io/v1beta1/pods": podsInMetrics},
		"list pods of metrics.k8s.io: ":  {"/apis/metrics.k8s.io/v1beta1/nodes": nodesInMetrics},
	} {
		got, err := newMetricsAPI(t, answers).Read(t.Context(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("read %+v with error %v, want one that begins with %q", got, err, what)
		}
	}
}

func TestMetricsAPIIsReadWithinBounds(t *testing.T) {
	for answer, want := range map[string]string{
		`{"items": [{"metadata": {"name": "m"}}, {"metadata": {"name": "n"}, "usage": {"cpu": "1e-2147483648"}}]}`: `list nodes of ` +
			`metrics.k8s.io: items[1]: usage[cpu]: "1e-2147483648" has an exponent of 10 digits; a quantity has 2 at most`,
		`{"items": [{"metadata": ` + strings.Repeat("[", 200) + `]}`: "list nodes of " +
			"metrics.k8s.io: objects and lists are nested more than 100 levels deep",
		`{"items": {}}`: "list nodes of metrics.k8s.io: ",
		`nonsense`:      "list nodes of metrics.k8s.io: ",
	} {
		_, err := newMetricsAPI(t, map[string]string{"/apis/metrics.k8s.io/v1beta1/nodes": answer}).Read(t.Context(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: error %v, want %s", answer, err, want)
		}
	}
}
