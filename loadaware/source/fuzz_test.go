package source

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/config"
)

// answers is a transport that answers every request with a text.
type answers []byte

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a)), ContentLength: int64(len(a)),
	}, nil
}

// read has a source be read, and checks that nothing of what it says is less than nothing.
func read(t *testing.T, length int, reader Reader) {
	t.Helper()
	boundedtest.Bound{Times: 400, Beside: 2 * bounded.Memory(0)}.Check(t, length, func() {
		reading, err := reader.Read(t.Context(), usualDurations())
		if err != nil {
			if len(err.Error()) > length+16<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		for name, node := range reading.Nodes {
			if node.Used.MilliCPU < 0 || node.Used.Memory < 0 {
				t.Errorf("node %q uses %+v", name, node.Used)
			}
		}
		for name, used := range reading.Pods {
			if used.MilliCPU < 0 || used.Memory < 0 {
				t.Errorf("pod %s uses %+v", name, used)
			}
		}
	})
}

// FuzzMetricsAPI reads what a metrics-server says, which an API server hands on as it is.
func FuzzMetricsAPI(f *testing.F) {
	for _, text := range append(boundedtest.Texts(), nodesInMetrics, podsInMetrics,
		`{"items":[{"metadata":{"name":"n"},"usage":{"cpu":"1e-30000000"}}]}`, `{"items":[{"metadata":{"name":"n"},"usage":{"cpu":"-1",`+
			`"memory":"-1Gi"}}]}`,
		`{"items":[{"containers":[{"usage":{"cpu":"9223372036854775807","memory":"9223372036854775807"}},{"usage":{"cpu":"9223372036854775807",`+
			`"memory":"9223372036854775807"}}]}]}`,
	) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		client, err := metricsv1beta1.NewForConfig(&rest.Config{Host: "http://127.0.0.1", Transport: answers(text), QPS: -1})
		must(t, err)
		read(t, len(text), NewMetricsAPI(client))
	})
}

// FuzzPrometheus reads what a Prometheus says.
func FuzzPrometheus(f *testing.F) {
	for _, text := range append(boundedtest.Texts(),
		`{"status":"success","data":{"resultType":"vector","result":[`+list(
			series("1.5", "instance", "n:9100", "namespace", "d", "pod", "p"), series("NaN", "instance", "m"),
		)+`]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1e309,"1e309"]},{"metric":{"instance":"\ud800"},`+
			`"value":[-1,"-Inf"]}]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,`+
			`"2"]}}`, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, `{"status":"error","errorType":"x","error":"\u001b[2J"}`,
	) {
		f.Add([]byte(text))
	}
	cfg := config.Default().Load.Prometheus
	cfg.URL = "http://127.0.0.1"
	reader, err := NewPrometheus(cfg, time.Second)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		client, err := api.NewClient(api.Config{Address: cfg.URL, RoundTripper: answers(text)})
		must(t, err)
		reader.api = prometheusv1.NewAPI(client)
		read(t, len(text), reader)
	})
}
