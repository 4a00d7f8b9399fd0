package reschedulerfaults

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

const (
	// measuring is how often it is measured what nodes use.
	measuring = time.Second
	// mild is what pods of no workload use, in percent of what they request.
	mild = 50
)

// measure tells what nodes use, until the context ends: what their pods do, which is a part of what these request, or more.
func (r *run) measure(ctx context.Context) error {
	if !r.script.settings.measured() {
		return nil
	}
	metrics, known := r.lane.Dynamic.Resource(slov1alpha1.NodeMetrics()), map[string]bool{}
	for ; ctx.Err() == nil; faultcampaign.Pause(ctx, measuring) {
		for node, status := range r.usage(time.Now()) {
			if !known[node] {
				object := &unstructured.Unstructured{}
				object.SetAPIVersion(slov1alpha1.Group + "/" + slov1alpha1.Version)
				object.SetKind(slov1alpha1.Kind)
				object.SetName(node)
				_, err := metrics.Create(ctx, object, metav1.CreateOptions{})
				if err := faultcampaign.UnlessDone(err, "create NodeMetric", node); err != nil && ctx.Err() == nil {
					return err
				}
				known[node] = true
			}
			patch, err := json.Marshal(map[string]any{"status": status})
			if err != nil {
				return fmt.Errorf("encode what a node uses: %w", err)
			}
			_, err = metrics.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			if err := faultcampaign.UnlessDone(err, "write NodeMetric", node); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// usage is what nodes use by now, by their names.
func (r *run) usage(now time.Time) map[string]*slov1alpha1.NodeMetricStatus {
	used, pods := map[string]int64{}, map[string][]slov1alpha1.PodMetricInfo{}
	r.record.look(func(s *state) {
		for name, n := range s.nodes {
			if !n.gone {
				used[name] = 0
			}
		}
		for _, p := range s.pods {
			node := p.object.Spec.NodeName
			if _, there := used[node]; p.gone || !there || p.object.Status.Phase != corev1.PodRunning {
				continue
			}
			uses := milliCPU(p.object) * r.heat(p.object) / 100
			used[node] += uses
			pods[node] = append(pods[node], slov1alpha1.PodMetricInfo{Namespace: p.object.Namespace, Name: p.object.Name, PodUsage: cores(uses)})
		}
	})
	all := map[string]*slov1alpha1.NodeMetricStatus{}
	for node, uses := range used {
		all[node] = &slov1alpha1.NodeMetricStatus{
			UpdateTime: &metav1.Time{Time: now}, NodeMetric: &slov1alpha1.NodeMetricInfo{NodeUsage: cores(min(uses, coresOfANode*1000))},
			PodsMetric: pods[node],
		}
	}
	return all
}

// heat is what a pod uses, in percent of what it requests.
func (r *run) heat(pod *corev1.Pod) int64 {
	if w := r.script.workload(pod.Labels[appLabel]); w != nil {
		return w.heat
	}
	return mild
}

func cores(milli int64) slov1alpha1.ResourceMap {
	return slov1alpha1.ResourceMap{Resources: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}}
}
