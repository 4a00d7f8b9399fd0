package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// queried is a Prometheus that has answers to queries, and none to others.
type queried struct {
	answers map[string]string // results of vectors, by query
	kind    string
	asked   []string
	tokens  []string
}

func (q *queried) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	q.asked = append(q.asked, query)
	q.tokens = append(q.tokens, r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/json")
	if query == "bad" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"status": "error", "errorType": "bad_data", "error": "1:1: parse error"}`)
		return
	}
	fmt.Fprintf(w, `{"status": "success", "data": {"resultType": %q, "result": [%s]}}`, q.kind, q.answers[query])
}

// series is a series of a vector, measured in second 1700000000.
func series(value string, labels ...string) string {
	metric := map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		metric[labels[i]] = labels[i+1]
	}
	text, err := json.Marshal(metric)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"metric": %s, "value": [1700000000, %q]}`, text, value)
}

func readPrometheus(t *testing.T, q *queried, change func(*config.LoadPrometheus)) (*Reading, error) {
	t.Helper()
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	cfg := config.Default().Load.Prometheus
	cfg.URL = server.URL
	cfg.Node.Queries = map[corev1.ResourceName]string{"cpu": "nodecpu[$window]", "memory": "nodememory"}
	cfg.Pod.Queries = map[corev1.ResourceName]string{"cpu": "podcpu", "memory": ""}
	if change != nil {
		change(&cfg)
	}
	if q.kind == "" {
		q.kind = "vector"
	}
	reader, err := NewPrometheus(cfg, 30*time.Second)
	must(t, err)
	return reader.Read(t.Context(), usualDurations())
}

func list(series ...string) string { return strings.Join(series, ",") }

func TestPrometheus(t *testing.T) {
	got, err := readPrometheus(t, &queried{answers: map[string]string{
		"nodecpu[2m]": list(
			series("1.2341", "instance", "n:9100"), series("0", "instance", "idle"), series("1", "instance", "cpu-only"), series("1", "job", "node"),
		),
		"nodememory": list(series("1024.5", "instance", "n:9100"), series("0", "instance", "idle")),
		"podcpu":     list(series("0.25", "namespace", "default", "pod", "p"), series("1", "pod", "of-no-namespace")),
	}}, nil)
	must(t, err)
	at := time.Unix(1700000000, 0)
	want := &Reading{
		Nodes: map[string]NodeReading{ // nodes whose every figure is known
			"n":    {At: at, Window: 2 * time.Minute, Used: cluster.Resources{MilliCPU: 1235, Memory: 1025}},
			"idle": {At: at, Window: 2 * time.Minute},
		},
		Pods:    map[types.NamespacedName]cluster.Resources{{Namespace: "default", Name: "p"}: {MilliCPU: 250}},
		Refused: []Refusal{{Of: "cpu-only", Resource: "memory", Reason: Missing}},
		Series: map[string]int{
			"load.prometheus.node.queries[cpu]": 3, "load.prometheus.node.queries[memory]": 2, "load.prometheus.pod.queries[cpu]": 1,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
}

// TestWhatPrometheusCannotMeanIsNotMeasured has a node n whose CPU is absurd in some way, and others that are read all the same.
func TestWhatPrometheusCannotMeanIsNotMeasured(t *testing.T) {
	n := func(values ...string) (all []string) {
		for i, value := range values {
			all = append(all, series(value, "instance", fmt.Sprintf("n:%d", 9100+i)))
		}
		return append(all, series("2", "instance", "m"))
	}
	for _, test := range []struct {
		name    string
		cpu     []string
		refused Refusal
	}{
		{"less than nothing", n("-0.5"), Refusal{Value: "-0.5", Reason: BelowZero}},
		{"not a number", n("NaN"), Refusal{Value: "NaN", Reason: NotANumber}},
		{"infinite", n("+Inf"), Refusal{Value: "+Inf", Reason: Infinite}},
		{"less than that", n("-Inf"), Refusal{Value: "-Inf", Reason: BelowZero}},
		{"more than there are numbers for", n("1e300"), Refusal{Value: "1e+300", Reason: Infinite}},
		{"not there", n(), Refusal{Reason: Missing}},
		{"there twice", n("1", "3"), Refusal{Value: "3", Reason: SeveralSeries}},
		{"there twice, and absurd", n("1", "NaN", "4"), Refusal{Value: "NaN", Reason: SeveralSeries}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readPrometheus(t, &queried{answers: map[string]string{
				"nodecpu[2m]": list(test.cpu...), "nodememory": list(series("7", "instance", "n"), series("8", "instance", "m")),
			}}, nil)
			must(t, err)
			test.refused.Of, test.refused.Resource = "n", "cpu"
			if diff := cmp.Diff([]Refusal{test.refused}, got.Refused); diff != "" {
				t.Errorf("refused, want (-) got (+):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"m"}, slices.Sorted(maps.Keys(got.Nodes))); diff != "" {
				t.Errorf("measured nodes, want (-) got (+):\n%s", diff)
			}
		})
	}
}

// TestPodsOfWhichAFigureIsAbsurdOrMissingAreNotMeasured has one that is read, and one that has only just come.
func TestPodsOfWhichAFigureIsAbsurdOrMissingAreNotMeasured(t *testing.T) {
	of := func(name, value string) string { return series(value, "namespace", "d", "pod", name) }
	got, err := readPrometheus(t, &queried{answers: map[string]string{
		"podcpu": list(of("twice", "1"), of("twice", "1"), of("negative", "-1"), of("right", "1")),
		"podmem": list(of("twice", "1"), of("negative", "1"), of("right", "1"), of("new", "1")),
	}}, func(cfg *config.LoadPrometheus) { cfg.Pod.Queries["memory"] = "podmem" })
	must(t, err)
	want := map[types.NamespacedName]cluster.Resources{{Namespace: "d", Name: "right"}: {MilliCPU: 1000, Memory: 1}}
	if diff := cmp.Diff(want, got.Pods); diff != "" {
		t.Errorf("pods, want (-) got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]Refusal{
		{Of: "d/twice", Pod: true, Resource: "cpu", Value: "1", Reason: SeveralSeries},
		{Of: "d/negative", Pod: true, Resource: "cpu", Value: "-1", Reason: BelowZero},
	}, got.Refused); diff != "" {
		t.Errorf("refused, want (-) got (+):\n%s", diff)
	}
}

func TestLabelsAreMappedToNodesAndPods(t *testing.T) {
	got, err := readPrometheus(t, &queried{answers: map[string]string{
		"nodegpu": list(
			series("2", "node", "n", "instance", "exporter:9100"), series("3", "instance", "[::1]:9100"), series("4", "host", "n"),
		),
		"podcpu": list(series("1", "namespace", "default", "pod", "p"), series("2", "ns", "default", "name", "p")),
	}}, func(cfg *config.LoadPrometheus) {
		cfg.Node = config.PrometheusNode{Queries: map[corev1.ResourceName]string{"nvidia.com/gpu": "nodegpu"}}
	})
	must(t, err)
	if diff := cmp.Diff([]string{"n"}, slices.Sorted(maps.Keys(got.Nodes))); diff != "" {
		t.Errorf("nodes, want (-) got (+):\n%s", diff)
	}
	if used := got.Nodes["n"].Used; used.Scalar(unique.Make(corev1.ResourceName("nvidia.com/gpu"))) != 2 {
		t.Errorf("the node uses %+v, want 2 of nvidia.com/gpu", used)
	}
	if used := got.Pods[types.NamespacedName{Namespace: "default", Name: "p"}]; used.MilliCPU != 1000 {
		t.Errorf("the pod uses %+v, want a core", used)
	}
}

func TestPercentilesMayBeAskedOfPrometheus(t *testing.T) {
	q := &queried{answers: map[string]string{
		"nodememory": series("1", "instance", "n"),
		"quantile_over_time(0.95, (nodememory)[10m:30s])": series("7", "instance", "n"),
		"avg_over_time((nodememory)[30m:30s])":            list(series("8", "instance", "n"), series("9", "instance", "unknown")),
	}}
	got, err := readPrometheus(t, q, func(cfg *config.LoadPrometheus) {
		cfg.Percentiles = config.PercentilesSubqueries
		cfg.Node.Queries["cpu"] = ""
	})
	must(t, err)
	want := []cluster.Aggregate{
		{Type: "p95", Duration: 10 * time.Minute, Used: cluster.Resources{Memory: 7}},
		{Type: "avg", Duration: 30 * time.Minute, Used: cluster.Resources{Memory: 8}},
	}
	if diff := cmp.Diff(want, got.Nodes["n"].Aggregated); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
	if len(q.asked) != 1+15+1 {
		t.Errorf("asked %d queries, want one for usage, 15 for statistics and one for pods: %q", len(q.asked), q.asked)
	}
}

func TestPrometheusNamesTheQueryThatWentWrong(t *testing.T) {
	answers := map[string]string{"nodecpu[2m]": series("1", "instance", "n"), "nodememory": series("1", "instance", "n")}
	tests := []struct {
		name   string
		q      queried
		change func(*config.LoadPrometheus)
		want   string
	}{
		{
			"a query that does not parse",
			queried{answers: answers},
			func(cfg *config.LoadPrometheus) { cfg.Pod.Queries["memory"] = "bad" },
			"load.prometheus.pod.queries[memory]: bad_data: 1:1: parse error",
		},
		{
			"no vector",
			queried{kind: "matrix"},
			nil,
			"load.prometheus.node.queries[cpu]: the answer is a matrix, and not one value for each series",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readPrometheus(t, &test.q, test.change)
			if err == nil || err.Error() != test.want {
				t.Errorf("read %+v with error %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestPrometheusIsShownAToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	q := &queried{}
	_, err := readPrometheus(t, q, func(cfg *config.LoadPrometheus) { cfg.BearerTokenFile = token })
	must(t, err)
	for _, got := range q.tokens {
		if got != "Bearer secret" {
			t.Errorf("a query was authorized by %q", got)
		}
	}
	if _, err := NewPrometheus(config.LoadPrometheus{URL: "http://x", CAFile: filepath.Join(t.TempDir(), "absent")}, time.Second); err == nil {
		t.Error("a CA file that is not there is no error")
	}
}

func TestPressureIsAskedOfPrometheus(t *testing.T) {
	answers := map[string]string{
		"nodecpu[2m]": list(series("1", "instance", "n:9100"), series("1", "instance", "m:9100")),
		"nodememory":  list(series("1", "instance", "n:9100"), series("1", "instance", "m:9100")),
		"stalled[2m]": list(
			series("0.25", "instance", "n:9100"), series("0.3", "instance", "n:9101"), series("NaN", "instance", "m:9100"),
			series("+Inf", "instance", "m:9100"),
			series("0.5", "instance", "unknown"), series("0.5", "job", "node"),
		),
		"memorystalled": series("7", "instance", "n"),
	}
	got, err := readPrometheus(t, &queried{answers: answers}, func(cfg *config.LoadPrometheus) {
		cfg.Node.Pressure = map[corev1.ResourceName]string{"cpu": "stalled[$window]", "memory": "memorystalled"}
	})
	must(t, err)
	if n, m := got.Nodes["n"].Pressure, got.Nodes["m"].Pressure; n != (cluster.Pressure{CPU: 30, Memory: 100}) || m != (cluster.Pressure{}) {
		t.Errorf("pressure on n %+v, on m %+v", n, m)
	}
	if diff := cmp.Diff([]Refusal{
		{Of: "m", Resource: "cpu pressure", Value: "NaN", Reason: NotANumber},
		{Of: "m", Resource: "cpu pressure", Value: "+Inf", Reason: Infinite},
	}, got.Refused); diff != "" {
		t.Errorf("refused, want (-) got (+):\n%s", diff)
	}
	_, err = readPrometheus(t, &queried{answers: answers}, func(cfg *config.LoadPrometheus) {
		cfg.Node.Pressure = map[corev1.ResourceName]string{"memory": "bad"}
	})
	if err == nil || !strings.Contains(err.Error(), "load.prometheus.node.pressure[memory]") {
		t.Errorf("the error is %v", err)
	}
}
