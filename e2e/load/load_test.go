package load

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// patience is a limit for what takes some periods of a scrape on an idle machine.
const patience = 3 * time.Minute

// lab is a control plane whose nodes say what they use.
type lab struct {
	*testing.T
	*controlplane.ControlPlane
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{T: t, ControlPlane: controlplane.ForTest(t, controlplane.Options{KubeletMetrics: true})}
	var err error
	l.client, err = kubernetes.NewForConfig(l.RESTConfig())
	l.must(err)
	l.dynamic, err = dynamic.NewForConfig(l.RESTConfig())
	l.must(err)
	l.must(muster.CreateCRDs(t.Context(), l.dynamic))
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// serve runs muster, with a load section, until the test ends.
func (l *lab) serve(load, profile map[string]any) *muster.Server {
	l.Helper()
	server, err := muster.Start(l.Context(), muster.Options{ControlPlane: l.ControlPlane, Load: load, Profile: profile, Progress: l.Output()})
	l.must(err)
	l.Cleanup(func() {
		if err := server.Err(); err != nil {
			l.Error(err)
		}
		server.Stop()
	})
	return server
}

func (l *lab) createNode(name string, labels map[string]string) {
	l.Helper()
	_, err := l.client.CoreV1().Nodes().Create(l.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: labels,
			Annotations: map[string]string{controlplane.KubeletMetricsAnnotation: controlplane.KubeletMetricsPath(name)},
		},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"),
		}},
	}, metav1.CreateOptions{})
	l.must(err)
}

// createPod creates a pod on a node that uses some CPU and memory.
func (l *lab) createPod(node, name, cpu, memory string) {
	l.Helper()
	_, err := l.client.CoreV1().Pods("default").Create(l.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": memory},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}, metav1.CreateOptions{})
	l.must(err)
}

func (l *lab) eventually(what string, check func() error) {
	l.Helper()
	var last error
	err := wait.PollUntilContextTimeout(l.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		l.Fatalf("%s: %v: %v", what, err, last)
	}
}

// nodeMetric reads the NodeMetric of a node.
func (l *lab) nodeMetric(name string) (*v1alpha1.NodeMetric, error) {
	object, err := l.dynamic.Resource(v1alpha1.NodeMetrics()).Get(l.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return v1alpha1.Decode(object)
}

// near says that usage is what was asked for, but for what the end of a period adds or takes.
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
func (l *lab) expectUsage() (updated time.Time) {
	l.Helper()
	l.eventually("NodeMetrics say what is used", func() error {
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
func (l *lab) populate() {
	l.Helper()
	l.must(l.StartKWOK(l.Context()))
	l.createNode("n1", nil)
	l.createNode("n2", nil)
	l.createPod("n1", "a", "1", "2Gi")
	l.createPod("n1", "b", "500m", "1Gi")
	l.createPod("n2", "c", "250m", "512Mi")
}

// reporting is a load section in which NodeMetrics show what the source says.
func reporting(source string) map[string]any {
	return map[string]any{"source": source, "nodeMetrics": map[string]any{"manage": true, "report": true, "configNamespace": "default"}}
}

// reportFast has NodeMetrics reported to every second.
func (l *lab) reportFast() {
	l.configure(`{"metricReportIntervalSeconds": 1}`)
}

// configure writes slo-controller-config.
func (l *lab) configure(text string) {
	l.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "slo-controller-config"},
		Data:       map[string]string{"colocation-config": text},
	}
	maps := l.client.CoreV1().ConfigMaps("default")
	if _, err := maps.Update(l.Context(), config, metav1.UpdateOptions{}); err != nil {
		_, err = maps.Create(l.Context(), config, metav1.CreateOptions{})
		l.must(err)
	}
}

// awaitEvent waits for an event about muster's Lease.
func (l *lab) awaitEvent(namespace, reason string) {
	l.Helper()
	l.eventually("an event "+reason, func() error {
		events, err := l.client.EventsV1().Events(namespace).List(l.Context(), metav1.ListOptions{})
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
	l := newLab(t)
	l.populate()
	l.must(l.StartMetricsServer(t.Context()))
	l.reportFast()
	load := reporting("Metrics")
	load["metrics"] = map[string]any{"interval": "1s"}
	l.serve(load, nil)
	l.expectUsage()

	l.StopMetricsServer()
	l.awaitEvent(metav1.NamespaceSystem, "LoadSourceUnreachable")
}

func TestPrometheusIsASource(t *testing.T) {
	for _, percentiles := range []string{"Own", "Subqueries"} {
		t.Run(percentiles, func(t *testing.T) {
			l := newLab(t)
			l.populate()
			url, err := l.StartPrometheus(t.Context(), "n1", "n2")
			l.must(err)
			l.reportFast()
			load := reporting("Prometheus")
			load["prometheus"] = map[string]any{
				"url": url, "interval": "1s", "window": "15s", "percentiles": percentiles,
				"node": map[string]any{"queries": map[string]any{
					"cpu": "rate(node_cpu_usage_seconds_total[$window])", "memory": "node_memory_working_set_bytes",
				}},
				"pod": map[string]any{"queries": map[string]any{
					"cpu": "rate(pod_cpu_usage_seconds_total[$window])", "memory": "pod_memory_working_set_bytes",
				}},
			}
			l.serve(load, nil)
			l.expectUsage()

			l.StopPrometheus()
			l.awaitEvent(metav1.NamespaceSystem, "LoadSourceUnreachable")
			_, err = l.StartPrometheus(t.Context(), "n1", "n2")
			l.must(err)
			l.awaitEvent(metav1.NamespaceSystem, "LoadSourceReachable")
		})
	}
}

func TestTheConfigMapIsWhatNodeMetricsSay(t *testing.T) {
	l := newLab(t)
	l.createNode("n1", map[string]string{"pool": "fast"})
	l.createNode("n2", nil)
	l.serve(map[string]any{"source": "NodeMetric", "nodeMetrics": map[string]any{"manage": true, "configNamespace": "default"}}, nil)
	expect := func(n1, n2 int64) {
		t.Helper()
		l.eventually("specs are what is configured", func() error {
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
	const fast = `"nodeConfigs": [{"nodeSelector": {"matchLabels": {"pool": "fast"}}, "metricReportIntervalSeconds": 5}]`
	l.configure(`{"metricReportIntervalSeconds": 30, ` + fast + `}`)
	expect(5, 30)

	l.configure(`{"metricReportIntervalSeconds": 20`)
	l.awaitEvent("default", "ColocationConfigInvalid")
	l.createNode("n3", nil) // has what was said before
	l.eventually("a node has the last good policy", func() error {
		metric, err := l.nodeMetric("n3")
		if err == nil && *metric.Spec.CollectPolicy.ReportIntervalSeconds != 30 {
			t.Fatalf("it is to be reported every %d s, want 30", *metric.Spec.CollectPolicy.ReportIntervalSeconds)
		}
		return err
	})
	expect(5, 30)

	l.must(l.client.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}))
	l.eventually("the NodeMetric of a node that is gone goes", func() error {
		if _, err := l.nodeMetric("n1"); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
}
