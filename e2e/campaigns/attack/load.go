package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
)

// limitsWithoutEnd has eleven pods on each node that its tenant has put there by name. Each requests a thousandth of a
// core, so that a kubelet takes it, and may use a million of them.
func limitsWithoutEnd() Attack {
	return delayAttack(
		Tenant,
		"limits-without-end",
		"to have each node refused to everybody for its load, by limits of pods that request next to nothing",
		func(ctx context.Context, g *ground) (d delay, err error) {
			nodes := newNodes("idle", 2, "10")
			if _, err := g.stage(ctx, nodes); err != nil {
				return d, err
			}
			for _, node := range nodes {
				if err := g.measure(ctx, node.Name, "1"); err != nil {
					return d, err
				}
				for i := range 11 {
					limited := newPod(tenantNamespace, fmt.Sprintf("vast-%s-%d", node.Name, i), "1m", on(node.Name), func(pod *corev1.Pod) {
						pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000000")}
					})
					if _, err := g.createAs(ctx, g.tenant, limited); err != nil {
						return d, err
					}
				}
			}
			d.about = "a pod of others"
			pods, err := g.create(ctx, newPod(othersNamespace, "modest", "1"))
			if err == nil {
				d.waited, d.bound = g.awaitBound(ctx, pods["modest"])
			}
			return d, err
		},
	)
}

// measure says in a NodeMetric how many cores a node uses, and returns once muster goes by that.
func (g *ground) measure(ctx context.Context, node, cpu string) error {
	metrics := g.dynamic.Resource(slov1alpha1.NodeMetrics())
	if _, err := metrics.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": slov1alpha1.Group + "/" + slov1alpha1.Version, "kind": slov1alpha1.Kind, "metadata": map[string]any{"name": node},
	}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create NodeMetric %s: %w", node, err)
	}
	status, err := json.Marshal(map[string]any{"status": slov1alpha1.NodeMetricStatus{
		UpdateTime: &metav1.Time{Time: time.Now()},
		NodeMetric: &slov1alpha1.NodeMetricInfo{NodeUsage: slov1alpha1.ResourceMap{Resources: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi"),
		}}},
	}})
	if err != nil {
		return err
	}
	if _, err := metrics.Patch(ctx, node, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("report to NodeMetric %s: %w", node, err)
	}
	return eventually(ctx, "muster goes by the load of node "+node, func() error {
		got := g.call(ctx, http.MethodGet, g.muster.DebugURL()+"/debug/load/"+node+"?format=json", nil)
		var page struct {
			Profiles []struct {
				Nodes []struct {
					Measured string `json:"measured"`
				} `json:"nodes"`
			} `json:"profiles"`
		}
		if err := json.Unmarshal([]byte(got.text), &page); err != nil {
			return fmt.Errorf("it answers %s: %w", got, err)
		}
		if len(page.Profiles) == 0 || page.Profiles[0].Nodes[0].Measured != "lately" {
			return fmt.Errorf("it says %+v", page)
		}
		return nil
	})
}
