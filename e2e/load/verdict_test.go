package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/muster"
)

// report writes what a node uses as koordlet does, creating its NodeMetric if there is none.
func (l *lab) report(node, cpu string, updated time.Time) {
	l.Helper()
	metrics := l.dynamic.Resource(v1alpha1.NodeMetrics())
	if _, err := metrics.Get(l.Context(), node, metav1.GetOptions{}); err != nil {
		_, err = metrics.Create(l.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": node},
		}}, metav1.CreateOptions{})
		l.must(err)
	}
	at := metav1.NewTime(updated)
	patch, err := json.Marshal(map[string]any{"status": v1alpha1.NodeMetricStatus{
		UpdateTime: &at,
		NodeMetric: &v1alpha1.NodeMetricInfo{NodeUsage: v1alpha1.ResourceMap{Resources: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}},
	}})
	l.must(err)
	_, err = metrics.Patch(l.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	l.must(err)
}

// verdicts asks which of the nodes a pod of a profile fits that asks for one core: why not, by the name of the node, and ""
// for those that it fits.
func (l *lab) verdicts(server *muster.Server, schedulerName string, nodes ...string) (map[string]string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"},
		Spec: corev1.PodSpec{
			SchedulerName: schedulerName,
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
			}}},
		},
	}
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
	if err != nil {
		return nil, err
	}
	response, err := http.Post(server.URL()+"/filter", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer extenderv1.ExtenderFilterResult
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	verdicts := map[string]string{}
	if answer.NodeNames != nil {
		for _, node := range *answer.NodeNames {
			verdicts[node] = ""
		}
	}
	maps.Copy(verdicts, answer.FailedNodes)
	maps.Copy(verdicts, answer.FailedAndUnresolvableNodes)
	return verdicts, nil
}

func TestWhatNodeMetricsSayDecides(t *testing.T) {
	l := newLab(t)
	for _, node := range []string{"busy", "idle", "old", "silent", "unknown"} {
		l.createNode(node, nil)
	}
	// Of 4 cores 65 % are 2.6. The pod's estimate is 0.85 of a core.
	l.report("busy", "1750m", time.Now())
	l.report("idle", "1700m", time.Now())
	l.report("old", "1", time.Now().Add(-time.Hour))
	_, err := l.dynamic.Resource(v1alpha1.NodeMetrics()).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": "silent"},
	}}, metav1.CreateOptions{})
	l.must(err)
	const expiration = 20
	server := l.serve(nil, map[string]any{
		"plugins":      map[string]any{"filter": map[string]any{"enabled": []any{map[string]any{"name": "LoadAware"}}}},
		"pluginConfig": []any{map[string]any{"name": "LoadAware", "args": map[string]any{"nodeMetricExpirationSeconds": expiration}}},
	})
	expect := func(what string, want map[string]string) {
		t.Helper()
		l.eventually(what, func() error {
			got, err := l.verdicts(server, corev1.DefaultSchedulerName, "busy", "idle", "old", "silent", "unknown")
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
	// Muster may have taken its time to start.
	l.report("busy", "1750m", time.Now())
	l.report("idle", "1700m", time.Now())
	expect(
		"nodes that are busy or silent are left out",
		map[string]string{"busy": busy, "idle": "", "old": expired, "silent": expired, "unknown": ""},
	)
	expect("figures expire", map[string]string{"busy": expired, "idle": expired, "old": expired, "silent": expired, "unknown": ""})
	l.report("busy", "1", time.Now())
	expect("a report puts it right", map[string]string{"busy": "", "idle": expired, "old": expired, "silent": expired, "unknown": ""})
}
