package usage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/nodemetric"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/requeue"
	"muster.dev/muster/predicates"
)

const wakeConfiguration = `
apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
load:
  source: Prometheus
  interval: 1s
  prometheus: {url: %q, window: 1s, node: {queries: {cpu: cpu, memory: memory}}, pod: {queries: {cpu: "", memory: ""}}}
profiles:
- plugins: {filter: {enabled: [{name: LoadAware}]}}
`

// measures answers queries as Prometheus does: about one node, which uses that number of cores.
type measures struct{ cores atomic.Int64 }

func (m *measures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	value := int64(1 << 20)
	if r.FormValue("query") == "cpu" {
		value = m.cores.Load()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "vector", "result": [
		{"metric": {"instance": "a:9100"}, "value": [%d, "%d"]}]}}`, time.Now().Unix(), value)
}

// patches is an API server that takes patches and tells of each.
type patches chan string

func (p patches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p <- r.Method + " " + r.URL.Path + " " + string(body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"}})
}

// TestAPodIsWokenWhenTheLoadThatPrometheusMeasuresFalls has a pod that is refused for Prometheus's figures of
// the only node. The test changes nothing except that these figures fall later: everything between the two
// servers is run by muster.
func TestAPodIsWokenWhenTheLoadThatPrometheusMeasuresFalls(t *testing.T) {
	load, writes := &measures{}, make(patches, 100)
	load.cores.Store(9)
	measured, api := httptest.NewServer(load), httptest.NewServer(writes)
	defer measured.Close()
	defer api.Close()

	cfg, err := v1alpha2.Decode(fmt.Appendf(nil, wakeConfiguration, measured.URL))
	must(t, err)
	log, now, registry := slog.New(slog.DiscardHandler), clock.RealClock{}, prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	profile, err := predicates.NewProfile(
		&cfg.Profiles[0],
		loadaware.New(&cfg.Profiles[0], loadaware.Options{Logger: log, Metrics: loadaware.NewMetrics(registry)}).Plugin(),
	)
	must(t, err)
	store := predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(registry), now)
	must(t, c.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse("10"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110"),
	}}}))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p", ResourceVersion: "1"}}
	pod.Spec = corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "c"}}}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
	must(t, c.Set(pod))

	feed, err := usage.New(usage.Options{
		Logger: log, Clock: now, Registerer: registry, Cluster: c, Load: &cfg.Load, NodeMetrics: nodemetric.NewStore(),
		Expirations: loadaware.Expirations(cfg.Profiles),
	})
	must(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	must(t, err)
	writer := nomination.NewWriter(log, registry, now, nomination.DefaultWriteLimits(500))
	requeuer := requeue.New(requeue.Options{
		Registerer: registry, Clock: now, Cluster: c, Profiles: predicates.NewProfiles(store), Writer: writer,
		Alone: func(*cluster.Pod) bool { return true }, Client: nomination.NewClient(client.CoreV1().RESTClient(), now),
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, run := range []func(context.Context){
		requeuer.Run, writer.Run,
		func(ctx context.Context) { feed.Run(ctx, func(context.Context) error { return nil }) },
	} {
		running.Go(func() { run(ctx) })
	}

	await(t, "the node is measured, and too busy", func() bool {
		return c.Snapshot().NodeByName("a").Usage != nil && refuses(store, c.PendingPod(pod.UID))
	})
	requeuer.Refused(pod.UID, c.Snapshot().Generation) // as the extender says when filter is asked about it
	load.cores.Store(1)
	for {
		select {
		case write := <-writes:
			if refuses(store, c.PendingPod(pod.UID)) {
				t.Errorf("it is woken though it does not fit: %s", write)
			}
			if strings.Contains(write, nomination.AnnotationWoken) && strings.Contains(write, "/namespaces/default/pods/p") {
				return
			}
			t.Errorf("written is %s", write)
		case <-time.After(time.Minute):
			t.Fatal("it is not woken")
		}
	}
}

// refuses says that a pod has no place.
func refuses(store *predicates.VerdictStore, pod *cluster.Pod) bool {
	view := store.View(pod)
	defer view.Close()
	for node := range view.Snapshot.Nodes() {
		if view.Verdict(node.Index) == predicates.Fits {
			return false
		}
	}
	return true
}

// TestStatisticsAreOverTheTimesThatSomebodyAsksFor has Prometheus be asked, and a NodeMetric and profiles that say over what.
func TestStatisticsAreOverTheTimesThatSomebodyAsksFor(t *testing.T) {
	load := &measures{}
	load.cores.Store(3)
	measured := httptest.NewServer(load)
	defer measured.Close()
	for _, percentiles := range []config.PrometheusPercentiles{config.PercentilesOwn, config.PercentilesSubqueries} {
		t.Run(string(percentiles), func(t *testing.T) {
			cfg, err := v1alpha2.Decode(fmt.Appendf(nil, wakeConfiguration, measured.URL))
			must(t, err)
			cfg.Load.Prometheus.Percentiles = percentiles
			log, registry, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry(), nodemetric.NewStore()
			c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
			dump := `{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}`
			_, err = c.Load([]string{"-"}, strings.NewReader(dump))
			must(t, err)
			feed, err := usage.New(usage.Options{
				Logger: log, Clock: clock.RealClock{}, Registerer: registry, Cluster: c, Load: &cfg.Load, NodeMetrics: metrics,
			})
			must(t, err)
			show(t, metrics, `{"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": "a"},
				"spec": {"metricCollectPolicy": {"nodeAggregatePolicy": {"durations": ["15m", "1h", "9h"]}}}}`)
			feed.Follow([]config.Profile{withStatistic(t, 20*time.Minute)})
			feed.Look(t.Context())
			over := map[time.Duration]int{}
			for _, aggregate := range c.Snapshot().NodeByName("a").Usage.Aggregated {
				over[aggregate.Duration]++
			}
			for _, d := range []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour} {
				if over[d] != 5 {
					t.Errorf("%d statistics over %s, want 5", over[d], d)
				}
			}
			if len(over) != 6 {
				t.Errorf("statistics are over %v, want none over 9h, which is longer than anything is remembered", over)
			}
		})
	}
}

// withStatistic is a profile that goes by a statistic over some time.
func withStatistic(t *testing.T, over time.Duration) config.Profile {
	t.Helper()
	cfg, err := v1alpha2.Decode(fmt.Appendf(nil, `
apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- plugins: {filter: {enabled: [{name: LoadAware}]}}
  pluginConfig:
  - name: LoadAware
    args: {aggregated: {usageThresholds: {cpu: 50}, usageAggregationType: p95, usageAggregatedDuration: %s}}
`, over))
	must(t, err)
	return cfg.Profiles[0]
}

// show has the watch show a NodeMetric.
func show(t *testing.T, store *nodemetric.Store, text string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	must(t, object.UnmarshalJSON([]byte(text)))
	handler := store.Handler(func(error) {})
	observed, err := handler.Trim(object)
	must(t, err)
	handler.Set(observed.(metav1.Object))
}

// await waits until something holds, and bounds how long a failure takes.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is not so that %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
