package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/logging"
	"muster.dev/muster/server/rescheduling"
)

// everyMetric has both processes register all that they can. Of sources of usage, which replace
// each other, one is as good as another.
const everyMetric = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
serving: {listen: "127.0.0.1:0"}
debug: {listen: "127.0.0.1:0"}
profiles:
- schedulerName: default-scheduler
  nodeSelection: Muster
  gates: UntilMembers
  plugins: {filter: {enabled: [{name: LoadAware}]}}
leaderElection: {leaderElect: true}
load:
  source: Metrics
  nodeMetrics: {manage: true}
rescheduler:
  listen: "127.0.0.1:0"
  coalesce: {enabled: true}
  relieve: {enabled: true}
`

// shy are metrics that say nothing until there is something to tell, with their types.
func shy() map[string]string {
	return map[string]string{
		"muster_rescheduling_plans": "gauge", "muster_rescheduling_budget_left": "gauge",
		"muster_topology_domains": "gauge", "muster_topology_whole_domains": "gauge", "muster_topology_most_empty_nodes": "gauge",
	}
}

// recorder keeps what is registered.
type recorder struct {
	*prometheus.Registry
	collectors []prometheus.Collector
}

func (r *recorder) Register(c prometheus.Collector) error {
	r.collectors = append(r.collectors, c)
	return r.Registry.Register(c)
}

func (r *recorder) MustRegister(collectors ...prometheus.Collector) {
	r.collectors = append(r.collectors, collectors...)
	r.Registry.MustRegister(collectors...)
}

// described is how a metric describes itself: prometheus.Desc shows it in no other way.
var described = regexp.MustCompile(
	`fqName: "(muster_[a-z0-9_]+)", help: ("(?:[^"\\]|\\.)*").*constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`,
)

// labelName finds the names of labels. A constant label has its value beside its name.
var labelName = regexp.MustCompile(`([a-zA-Z_]+)(?:="(?:[^"\\]|\\.)*")?(?:,|$)`)

// rows lists muster's own metrics, by name.
func (r *recorder) rows(t *testing.T) string {
	t.Helper()
	var rows []string
	for _, collector := range r.collectors {
		types := typesOf(collector)
		descriptions := make(chan *prometheus.Desc, 100)
		collector.Describe(descriptions)
		close(descriptions)
		for description := range descriptions {
			match := described.FindStringSubmatch(description.String())
			if match == nil {
				continue // of Go or the process
			}
			kind := types[match[1]]
			if kind == "" {
				if kind = shy()[match[1]]; kind == "" {
					t.Errorf("the type of %s is not known: its collector shows no value of it; add it to shy", match[1])
				}
			}
			help, err := strconv.Unquote(match[2])
			if err != nil {
				t.Fatal(err)
			}
			var labels []string
			for _, label := range labelName.FindAllStringSubmatch(match[3]+","+match[4], -1) {
				labels = append(labels, "`"+label[1]+"`")
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", match[1], kind, strings.Join(labels, ", "), cell(help)))
		}
	}
	slices.Sort(rows)
	return "| metric | type | labels | |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "")
}

// typesOf returns the types of a collector's metrics: the types of its values, and for a vector
// without values its own type.
func typesOf(c prometheus.Collector) map[string]string {
	switch vector := c.(type) {
	case *prometheus.CounterVec:
		c = vector.WithLabelValues(make([]string, labelsOf(c))...)
	case *prometheus.GaugeVec:
		c = vector.WithLabelValues(make([]string, labelsOf(c))...)
	case *prometheus.HistogramVec:
		c, _ = vector.WithLabelValues(make([]string, labelsOf(c))...).(prometheus.Collector)
	}
	alone := prometheus.NewRegistry()
	alone.MustRegister(c)
	families, _ := alone.Gather() // what there is
	types := map[string]string{}
	for _, family := range families {
		types[family.GetName()] = strings.ToLower(dto.MetricType_name[int32(family.GetType())])
	}
	return types
}

// labelsOf is how many labels the one metric of a vector has.
func labelsOf(c prometheus.Collector) int {
	descriptions := make(chan *prometheus.Desc, 1)
	c.Describe(descriptions)
	return len(strings.Split(described.FindStringSubmatch((<-descriptions).String())[4], ","))
}

// metricsOf are the rows of a process that is built and told to stop at once.
func metricsOf(t *testing.T, run func(context.Context, inspect.Registry) error) string {
	t.Helper()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	r := &recorder{Registry: prometheus.NewRegistry()}
	log, err := logging.New(logging.Options{Output: io.Discard, Format: logging.FormatText})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r.MustRegister(log) // as withLogs does
	if err := run(stopped, r); err != nil {
		t.Fatal(err)
	}
	return r.rows(t)
}

func TestTheReferenceOfMetricsIsWhatBothProcessesRegister(t *testing.T) {
	cfg, err := v1alpha2.Decode([]byte(everyMetric))
	if err != nil {
		t.Fatal(err)
	}
	log, nowhere := slog.New(slog.DiscardHandler), &rest.Config{Host: "http://127.0.0.1:1"}
	body := "## muster serve\n\n" + metricsOf(t, func(ctx context.Context, r inspect.Registry) error {
		return server.Run(ctx, server.Options{Options: app.Options{Config: cfg, Logger: log, Registry: r}, RESTConfig: nowhere})
	}) + "\n## muster reschedule\n\n" + metricsOf(t, func(ctx context.Context, r inspect.Registry) error {
		return rescheduling.Run(ctx, rescheduling.Options{
			Options: app.Options{Config: cfg, Logger: log, Registry: r},
			Connect: func(config.ClientConnection) (*rest.Config, error) { return nowhere, nil },
		})
	})
	sources(t, ".", func(path string, file *ast.File) {
		for _, name := range metricNames(file).UnsortedList() {
			if !strings.Contains(body, "| `"+name+"` |") {
				t.Errorf("%s has the metric %s, which neither process registers with the configuration of this test", path, name)
			}
		}
	})
	compareReference(
		t,
		"metrics.md",
		"Metrics",
		"What the two processes serve at `/metrics`, besides `go_…` and `process_…`. Metrics of what the configuration does not ask for are "+
			"not there. [Runbooks](../runbooks.md) say what to do about alerts that are made of them.",
		body,
	)
}

// metricNames are the names of metrics that a file has as constants.
func metricNames(file *ast.File) sets.Set[string] {
	names := sets.New[string]()
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && metricName.MatchString(text(literal)) {
			names.Insert(text(literal))
		}
		return true
	})
	return names
}

var metricName = regexp.MustCompile(`^muster_[a-z0-9_]+$`)
