package load

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestMain(m *testing.M) { lab.Main(m) }

// cluster is a control plane whose nodes say what they use.
type cluster struct{ *lab.Lab }

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{lab.Take(t, lab.Options{CRDs: true, Options: controlplane.Options{KubeletMetrics: true}})}
}

// newNode has kubelet metrics.
func newNode(name string, labels ...string) *corev1.Node {
	return workload.NewNode(name, "4", workload.ForKWOK, func(node *corev1.Node) {
		node.Annotations[controlplane.KubeletMetricsAnnotation] = controlplane.KubeletMetricsPath(name)
		for _, label := range labels {
			node.Labels[label] = ""
		}
	})
}

// using is a pod on a node that uses some CPU and memory.
func using(node, name, cpu, memory string) *corev1.Pod {
	return workload.NewPod(
		name, "0", workload.On(node),
		workload.Annotated("kwok.x-k8s.io/usage-cpu", cpu), workload.Annotated("kwok.x-k8s.io/usage-memory", memory),
	)
}

// nodeMetric reads the NodeMetric of a node.
func (l *cluster) nodeMetric(name string) (*v1alpha1.NodeMetric, error) {
	object, err := l.Dynamic.Resource(v1alpha1.NodeMetrics()).Get(l.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return v1alpha1.Decode(object)
}

// near says that usage is as asked for, up to what the end of a period adds or takes.
func near(what string, got v1alpha1.ResourceMap, cpu, memory string) error {
	for name, want := range map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)} {
		used := got.Resources[name]
		if off := used.AsApproximateFloat64() / want.AsApproximateFloat64(); off < 0.8 || off > 1.25 {
			return fmt.Errorf("%s uses %s of %s, want about %s", what, used.String(), name, want.String())
		}
	}
	return nil
}

// expectUsage waits until the NodeMetrics of two nodes say what their pods use, and returns the time
// that they were measured at.
func (l *cluster) expectUsage() (updated time.Time) {
	l.Helper()
	l.Eventually("NodeMetrics say what is used", func() error {
		for node, used := range map[string]struct{ cpu, memory string }{"n1": {"1500m", "3Gi"}, "n2": {"250m", "512Mi"}} {
			metric, err := l.nodeMetric(node)
			if err != nil {
				return err
			}
			status := metric.Status
			if status.UpdateTime == nil || status.NodeMetric == nil {
				return fmt.Errorf("nothing was reported of %s", node)
			}
			updated = status.UpdateTime.Time
			if err := near(node, status.NodeMetric.NodeUsage, used.cpu, used.memory); err != nil {
				return err
			}
			if len(status.NodeMetric.AggregatedNodeUsages) != 3 || len(status.NodeMetric.AggregatedNodeUsages[0].Usage) != 5 {
				return fmt.Errorf("statistics of %s: %v", node, status.NodeMetric.AggregatedNodeUsages)
			}
			if node != "n1" {
				continue
			}
			if len(status.PodsMetric) != 2 {
				return fmt.Errorf("pods of %s: %v", node, status.PodsMetric)
			}
			if err := errors.Join(
				near("a", status.PodsMetric[0].PodUsage, "1", "2Gi"), near("b", status.PodsMetric[1].PodUsage, "500m", "1Gi"),
			); err != nil {
				return err
			}
		}
		return nil
	})
	return updated
}

// populate creates two nodes with pods that use something, and has KWOK run them.
func (l *cluster) populate() {
	l.Helper()
	l.Must(l.StartKWOK(l.Context()))
	l.Create(
		newNode("n1"), newNode("n2"),
		using("n1", "a", "1", "2Gi"), using("n1", "b", "500m", "1Gi"), using("n2", "c", "250m", "512Mi"),
	)
}

// reporting is a load section in which NodeMetrics show what the source says.
func reporting(source string) map[string]any {
	return map[string]any{"source": source, "nodeMetrics": map[string]any{"manage": true, "configNamespace": "default"}}
}

// reportFast has NodeMetrics reported to every second.
func (l *cluster) reportFast() {
	l.configure(`{"metricReportIntervalSeconds": 1}`)
}

// configure writes slo-controller-config.
func (l *cluster) configure(text string) {
	l.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "slo-controller-config"},
		Data:       map[string]string{"colocation-config": text},
	}
	maps := l.Client.CoreV1().ConfigMaps("default")
	if _, err := maps.Update(l.Context(), config, metav1.UpdateOptions{}); err != nil {
		l.Create(config)
	}
}

// awaitEvent waits for an event about muster's Lease.
func (l *cluster) awaitEvent(namespace, reason string) {
	l.Helper()
	l.Eventually("an event "+reason, func() error {
		events, err := l.Client.EventsV1().Events(namespace).List(l.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var reasons []string
		for i := range events.Items {
			if events.Items[i].Reason == reason {
				return nil
			}
			reasons = append(reasons, events.Items[i].Reason)
		}
		return fmt.Errorf("there are only %q", reasons)
	})
}

func TestMetricsServerIsASource(t *testing.T) {
	lab.Long(t) // it builds metrics-server
	l := newCluster(t)
	l.populate()
	l.Must(l.StartMetricsServer(t.Context()))
	l.reportFast()
	load := reporting("Metrics")
	load["interval"] = "1s"
	l.Muster(muster.Options{Load: load})
	l.expectUsage()

	l.StopMetricsServer()
	l.awaitEvent(metav1.NamespaceSystem, "LoadSourceUnreachable")
}

func TestPrometheusIsASource(t *testing.T) {
	lab.Long(t) // it builds Prometheus
	t.Parallel()
	for _, percentiles := range []string{"Own", "Subqueries"} {
		t.Run(percentiles, func(t *testing.T) {
			l := newCluster(t)
			l.populate()
			url, err := l.StartPrometheus(t.Context(), "n1", "n2")
			l.Must(err)
			l.reportFast()
			load := reporting("Prometheus")
			load["interval"] = "1s"
			load["prometheus"] = map[string]any{
				"url": url, "window": "15s", "percentiles": percentiles,
				"node": map[string]any{"queries": map[string]any{
					"cpu": "rate(node_cpu_usage_seconds_total[$window])", "memory": "node_memory_working_set_bytes",
				}},
				"pod": map[string]any{"queries": map[string]any{
					"cpu": "rate(pod_cpu_usage_seconds_total[$window])", "memory": "pod_memory_working_set_bytes",
				}},
			}
			l.Muster(muster.Options{Load: load})
			l.expectUsage()

			l.StopPrometheus()
			l.awaitEvent(metav1.NamespaceSystem, "LoadSourceUnreachable")
			_, err = l.StartPrometheus(t.Context(), "n1", "n2")
			l.Must(err)
			l.awaitEvent(metav1.NamespaceSystem, "LoadSourceReachable")
		})
	}
}

func TestTheConfigMapIsWhatNodeMetricsSay(t *testing.T) {
	l := newCluster(t)
	l.Create(newNode("n1", "fast"), newNode("n2"))
	l.Muster(muster.Options{Load: map[string]any{
		"source": "NodeMetric", "nodeMetrics": map[string]any{"manage": true, "configNamespace": "default"},
	}})
	expect := func(n1, n2 int64) {
		t.Helper()
		l.Eventually("specs are what is configured", func() error {
			for node, want := range map[string]int64{"n1": n1, "n2": n2} {
				metric, err := l.nodeMetric(node)
				if err != nil {
					return err
				}
				if got := *metric.Spec.CollectPolicy.ReportIntervalSeconds; got != want {
					return fmt.Errorf("%s is to be reported every %d s, want %d", node, got, want)
				}
			}
			return nil
		})
	}
	expect(60, 60)
	const fast = `"nodeConfigs": [{"nodeSelector": {"matchLabels": {"fast": ""}}, "metricReportIntervalSeconds": 5}]`
	l.configure(`{"metricReportIntervalSeconds": 30, ` + fast + `}`)
	expect(5, 30)

	l.configure(`{"metricReportIntervalSeconds": 20`)
	l.awaitEvent("default", "ColocationConfigInvalid")
	l.Create(newNode("n3")) // has what was said before
	l.Eventually("a node has the last good policy", func() error {
		metric, err := l.nodeMetric("n3")
		if err == nil && *metric.Spec.CollectPolicy.ReportIntervalSeconds != 30 {
			t.Fatalf("it is to be reported every %d s, want 30", *metric.Spec.CollectPolicy.ReportIntervalSeconds)
		}
		return err
	})
	expect(5, 30)

	l.Must(l.Client.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}))
	l.Eventually("the NodeMetric of a node that is gone goes", func() error {
		if _, err := l.nodeMetric("n1"); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
}
