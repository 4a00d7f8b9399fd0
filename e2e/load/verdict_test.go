package load

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// report writes what a node uses as koordlet does, creating its NodeMetric if there is none.
func (l *cluster) report(node, cpu string, updated time.Time) {
	l.Helper()
	metrics := l.Dynamic.Resource(v1alpha1.NodeMetrics())
	if _, err := metrics.Get(l.Context(), node, metav1.GetOptions{}); err != nil {
		l.Create(newNodeMetric(node))
	}
	at := metav1.NewTime(updated)
	patch, err := json.Marshal(map[string]any{"status": v1alpha1.NodeMetricStatus{
		UpdateTime: &at,
		NodeMetric: &v1alpha1.NodeMetricInfo{NodeUsage: v1alpha1.ResourceMap{Resources: corev1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Mi"),
		}}},
	}})
	l.Must(err)
	_, err = metrics.Patch(l.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	l.Must(err)
}

// asking is a pod of a profile that asks for one core.
func asking(schedulerName string) *corev1.Pod {
	return workload.NewPod("p", "1", workload.ScheduledBy(schedulerName), func(pod *corev1.Pod) { pod.UID = "p" })
}

// newNodeMetric says nothing yet.
func newNodeMetric(node string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": node},
	}}
}

func TestWhatNodeMetricsSayDecides(t *testing.T) {
	l := newCluster(t)
	for _, node := range []string{"busy", "idle", "old", "silent", "unknown"} {
		l.Create(newNode(node))
	}
	// Of 4 cores 65 % are 2.6. The pod's estimate is 0.85 of a core.
	l.report("old", "1", time.Now().Add(-time.Hour))
	l.Create(newNodeMetric("silent"))
	const expiration = 10
	server := l.Muster(muster.Options{Profile: map[string]any{
		"plugins":      map[string]any{"filter": map[string]any{"enabled": []any{map[string]any{"name": "LoadAware"}}}},
		"pluginConfig": []any{map[string]any{"name": "LoadAware", "args": map[string]any{"nodeMetricExpirationSeconds": expiration}}},
	}})
	// Figures are reported again before each look: it may come late.
	expect := func(what string, reports, want map[string]string) {
		t.Helper()
		l.Eventually(what, func() error {
			for node, cpu := range reports {
				l.report(node, cpu, time.Now())
			}
			got, err := server.Verdicts(t.Context(), asking(corev1.DefaultSchedulerName), "busy", "idle", "old", "silent", "unknown")
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("verdicts, want (-) got (+):\n%s", diff)
			}
			return nil
		})
	}
	const busy, expired = "node(s) cpu usage exceed threshold", "node(s) nodeMetric expired"
	expect(
		"nodes that are busy or silent are left out", map[string]string{"busy": "1750m", "idle": "1700m"},
		map[string]string{"busy": busy, "idle": "", "old": expired, "silent": expired, "unknown": ""},
	)
	expect("figures expire", nil, map[string]string{"busy": expired, "idle": expired, "old": expired, "silent": expired, "unknown": ""})
	expect(
		"a report puts it right", map[string]string{"busy": "1"},
		map[string]string{"busy": "", "idle": expired, "old": expired, "silent": expired, "unknown": ""},
	)
}
