package nodemetric

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/slo/v1alpha1"
)

// spec returns the spec of a NodeMetric, in short.
func (w *world) spec(name string) string {
	w.Helper()
	metric, err := v1alpha1.Decode(&unstructured.Unstructured{Object: w.stored(name)})
	w.must(err)
	return said(metric.Spec.CollectPolicy)
}

func TestNodesHaveNodeMetricsAndThoseOfNodesThatAreGoneGo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setNode("a", nil)
		w.setNode("b", nil)
		w.write(map[string]any{"metadata": map[string]any{"name": "gone", "uid": "u"}})
		w.watch()
		defer w.run(w.controller())()
		w.pass(time.Second)
		w.expect("create a", "create b", "delete gone")
		if got := w.spec("a"); got != "300 60 5m0s 10m0s 30m0s" {
			t.Errorf("the spec says %s, want the default", got)
		}
		w.setNode("c", nil)
		w.must(w.cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
		w.pass(time.Second)
		w.expect("create c", "delete a")
		w.pass(time.Minute)
		w.expect()
		if err := w.dynamic.Tracker().Delete(v1alpha1.NodeMetrics(), "", "b"); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		w.expect("create b")
		if got := testutil.ToFloat64(w.metrics.writes.WithLabelValues(created)); got != 4 {
			t.Errorf("the metric counts %v creations, want 4", got)
		}
	})
}

func TestEditsOfTheConfigMapReachSpecs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setNode("a", map[string]string{"pool": "fast"})
		w.setNode("b", nil)
		w.configure(`{"metricReportIntervalSeconds": 30}`)
		defer w.run(w.controller())()
		w.pass(time.Second)
		w.expect("create a", "create b")
		expect := func(a, b string) {
			t.Helper()
			if diff := cmp.Diff([]string{a, b}, []string{w.spec("a"), w.spec("b")}); diff != "" {
				t.Errorf("specs of a and b, want (-) got (+):\n%s", diff)
			}
		}
		expect("300 30 5m0s 10m0s 30m0s", "300 30 5m0s 10m0s 30m0s")

		const fast = `"nodeConfigs": [{"nodeSelector": {"matchLabels": {"pool": "fast"}}, "metricReportIntervalSeconds": 5}]`
		w.configure(`{"metricReportIntervalSeconds": 30, ` + fast + `}`)
		w.pass(time.Second)
		w.expect("patch a")
		expect("300 5 5m0s 10m0s 30m0s", "300 30 5m0s 10m0s 30m0s")

		w.setNode("a", nil)
		w.setNode("b", map[string]string{"pool": "fast"})
		w.pass(time.Second)
		w.expect("patch a", "patch b")
		expect("300 30 5m0s 10m0s 30m0s", "300 5 5m0s 10m0s 30m0s")

		w.must(w.core.CoreV1().ConfigMaps("koordinator-system").Delete(t.Context(), ConfigMapName, metav1.DeleteOptions{}))
		w.pass(time.Second)
		w.expect("patch a", "patch b")
		expect("300 60 5m0s 10m0s 30m0s", "300 60 5m0s 10m0s 30m0s")
		if told := w.told(); told != nil {
			t.Errorf("events %q, want none", told)
		}
	})
}

func TestAConfigMapThatMakesNoSenseChangesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setNode("a", nil)
		w.configure(`{"metricReportIntervalSeconds": 30}`)
		defer w.run(w.controller())()
		w.pass(time.Second)
		w.calls()
		w.configure(`{"metricReportIntervalSeconds": 20`)
		w.pass(time.Second)
		w.expect()
		w.setNode("b", nil) // has the last good one
		w.pass(time.Second)
		w.expect("create b")
		if got := w.spec("b"); got != "300 30 5m0s 10m0s 30m0s" {
			t.Errorf("the spec says %s, want what was said before", got)
		}
		want := []string{
			"Warning ColocationConfigInvalid colocation-config is wrong, and what it said before stays: unexpected end of JSON input",
		}
		if diff := cmp.Diff(want, w.told()); diff != "" {
			t.Errorf("events, want (-) got (+):\n%s", diff)
		}
		checkMetrics := func(valid, errs float64) {
			t.Helper()
			if got := [2]float64{
				testutil.ToFloat64(w.metrics.configValid),
				testutil.ToFloat64(w.metrics.configErr),
			}; got != [2]float64{valid, errs} {
				t.Errorf("the metrics say valid and errors %v, want %v and %v", got, valid, errs)
			}
		}
		checkMetrics(0, 1)

		w.configure(`{"metricReportIntervalSeconds": 20, "nodeConfigs": [{}]}`)
		w.pass(time.Second)
		w.expect("patch a", "patch b")
		want = []string{
			"Warning NodeConfigInvalid colocation-config is wrong for some nodes, which have what the cluster has: nodeConfigs[0].nodeSelector: " +
				"Required value",
		}
		if diff := cmp.Diff(want, w.told()); diff != "" {
			t.Errorf("events, want (-) got (+):\n%s", diff)
		}
		checkMetrics(0, 2)
		w.configure(`{"metricReportIntervalSeconds": 20}`)
		w.pass(time.Second)
		w.expect()
		checkMetrics(1, 2)
	})
}

func TestAConfigMapThatNeverMadeSenseLeavesTheDefault(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setNode("a", nil)
		w.configure(`7`)
		defer w.run(w.controller())()
		w.pass(time.Second)
		if got := w.spec("a"); got != "300 60 5m0s 10m0s 30m0s" {
			t.Errorf("the spec says %s, want the default", got)
		}
	})
}

func TestStatusAndFieldsOfOthersAreLeftAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setNode("a", nil)
		w.write(map[string]any{
			"metadata": map[string]any{"name": "a", "annotations": map[string]any{"x": "y"}},
			"spec": map[string]any{
				"metricCollectPolicy": map[string]any{"reportIntervalSeconds": int64(1), "nodeMemoryCollectPolicy": "x"},
				"other":               "z",
			},
			"status": map[string]any{"updateTime": "2026-01-02T03:04:05Z"},
		})
		w.watch()
		defer w.run(w.controller())()
		w.pass(time.Second)
		w.expect("patch a")
		stored := w.stored("a")
		want := map[string]any{
			"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric",
			"metadata": map[string]any{"name": "a", "annotations": map[string]any{"x": "y"}},
			"spec": map[string]any{
				"metricCollectPolicy": map[string]any{
					"aggregateDurationSeconds": int64(300), "reportIntervalSeconds": int64(60), "nodeMemoryCollectPolicy": "x",
					"nodeAggregatePolicy": map[string]any{"durations": []any{"5m0s", "10m0s", "30m0s"}},
				},
				"other": "z",
			},
			"status": map[string]any{"updateTime": "2026-01-02T03:04:05Z"},
		}
		if diff := cmp.Diff(want, stored); diff != "" {
			t.Errorf("want (-) got (+):\n%s", diff)
		}
	})
}

func TestWithoutTheCustomResourceItIsTriedUntilItComes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setNode("a", nil)
		var away atomic.Bool
		away.Store(true)
		w.dynamic.PrependReactor("create", "*", refuse(&away))
		defer w.run(w.controller())()
		w.pass(time.Minute)
		if tries := len(w.calls()); tries < 2 || tries > 20 {
			t.Errorf("tried %d times in a minute", tries)
		}
		if !strings.Contains(w.logged.String(), "cannot write a NodeMetric") {
			t.Errorf("the log does not say so:\n%s", w.logged.String())
		}
		away.Store(false)
		w.pass(maxBackoff)
		w.expect("create a")
		synctest.Wait()
	})
}
