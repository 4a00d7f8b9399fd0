package usage

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/nodemetric"
)

func noon() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func newCluster(t *testing.T, nodes ...string) *cluster.Cluster {
	t.Helper()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for _, name := range nodes {
		if _, err := c.Load([]string{"-"}, strings.NewReader("kind: Node\napiVersion: v1\nmetadata: {name: "+name+"}\n")); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// newFeed is one of a source, of a cluster at noon, and what it logs.
func newFeed(t *testing.T, of config.LoadSource, c *cluster.Cluster) (*Feed, *nodemetric.Store, *bytes.Buffer) {
	t.Helper()
	cfg, log, store := config.Default().Load, &bytes.Buffer{}, nodemetric.NewStore()
	cfg.Source = of
	feed, err := New(Options{
		Logger: slog.New(slog.NewTextHandler(log, nil)), Clock: clocktesting.NewFakeClock(noon()), Registerer: prometheus.NewRegistry(),
		Cluster: c, Load: &cfg, Expirations: []time.Duration{time.Minute}, NodeMetrics: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	return feed, store, log
}

func nodeMetric(node, at, cpu string) string {
	return `apiVersion: slo.koordinator.sh/v1alpha1
kind: NodeMetric
metadata: {name: ` + node + `}
status: {updateTime: "2026-01-01T` + at + `Z", nodeMetric: {nodeUsage: {resources: {cpu: "` + cpu + `", memory: "1"}}}}
`
}

func TestAWatchOnNodeMetricsFillsTheView(t *testing.T) {
	c := newCluster(t, "a")
	feed, store, _ := newFeed(t, config.LoadSourceNodeMetric, c)
	handler := store.Handler(feed.Watched)
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(nodeMetric("a", "11:59:30", "2")), &object.Object); err != nil {
		t.Fatal(err)
	}
	observed, err := handler.Trim(object)
	if err != nil {
		t.Fatal(err)
	}
	handler.Watched(nil)
	handler.Set(observed.(metav1.Object))
	usage := c.Snapshot().NodeByName("a").Usage
	if usage == nil || usage.Node.MilliCPU != 2000 || usage.Age() != 30*time.Second {
		t.Errorf("the usage is %+v", usage)
	}
	feed.Look(t.Context())
	if status := feed.Health.Status(); !status.Reachable {
		t.Errorf("the source fares as %+v", status)
	}
}

func TestALookWithoutNodeMetricsIsToldOnce(t *testing.T) {
	feed, _, log := newFeed(t, config.LoadSourceNodeMetric, newCluster(t))
	feed.Look(t.Context())
	feed.Look(t.Context())
	if got := strings.Count(log.String(), "nodemetrics.slo.koordinator.sh is not defined"); got != 1 {
		t.Errorf("it is logged %d times:\n%s", got, log)
	}
}

func TestWithoutASourceAFeedDoesNothing(t *testing.T) {
	feed, _, log := newFeed(t, config.LoadSourceNone, newCluster(t))
	feed.Run(t.Context(), nil) // returns at once
	feed.Look(t.Context())
	feed.Watched(nodemetric.ErrUndefined)
	if feed.Keeper != nil || feed.Health != nil || log.Len() > 0 {
		t.Errorf("the feed is %+v, and logs:\n%s", feed, log)
	}
}

func TestADumpIsAsOldAsItsLatestNodeMetric(t *testing.T) {
	c, log := newCluster(t, "a", "b", "c"), &bytes.Buffer{}
	dump := strings.Join([]string{
		nodeMetric("a", "10:00:00", "1"),
		nodeMetric("b", "10:03:00", "2"),
		"kind: NodeMetric\napiVersion: slo.koordinator.sh/v1alpha1\nmetadata: {name: c}\nstatus: {updateTime: soon}\n",
	}, "---\n")
	loaded, err := Load(c, slog.New(slog.NewTextHandler(log, nil)), []string{"-"}, strings.NewReader(dump))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := loaded.String(), "loaded 3 nodemetrics"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	type figures struct {
		MilliCPU int64
		Age      time.Duration
	}
	got := map[string]figures{}
	for node := range c.Snapshot().Nodes() {
		if node.Usage != nil {
			got[node.Name] = figures{node.Usage.Node.MilliCPU, node.Usage.Age()}
		}
	}
	if diff := cmp.Diff(map[string]figures{"a": {1000, 3 * time.Minute}, "b": {2000, 0}}, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if !strings.Contains(log.String(), "status.updateTime") {
		t.Errorf("what makes no sense is not told: %s", log)
	}
}
