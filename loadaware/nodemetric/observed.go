package nodemetric

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
)

// Observed is what is kept of a NodeMetric.
type Observed struct {
	metav1.PartialObjectMetadata
	Spec v1alpha1.NodeMetricSpec
	// Usage is what its status says; see [cluster.Cluster.SetUsage].
	Usage *cluster.Usage
	// Err says that the object makes no sense, and has nothing but its metadata.
	Err error
}

// Trim makes an Observed of each NodeMetric that the watch shows. Resources are counted by the
// names of the view.
func Trim(names *cluster.ResourceNames) cache.TransformFunc {
	return func(object any) (any, error) {
		whole, ok := object.(*unstructured.Unstructured)
		if !ok {
			return object, nil // trimmed already, or a tombstone of what was
		}
		observed := &Observed{}
		observed.TypeMeta = metav1.TypeMeta{APIVersion: whole.GetAPIVersion(), Kind: whole.GetKind()}
		observed.Name, observed.UID, observed.ResourceVersion = whole.GetName(), whole.GetUID(), whole.GetResourceVersion()
		metric, err := v1alpha1.Decode(whole)
		if err != nil {
			observed.Err = fmt.Errorf("NodeMetric %s: %w", whole.GetName(), err)
			return observed, nil
		}
		observed.Spec, observed.Usage = metric.Spec, usageOf(metric, names)
		return observed, nil
	}
}

// usageOf is what a NodeMetric says. Without an updateTime it is of no age that anybody
// believes, whatever else it says.
func usageOf(metric *v1alpha1.NodeMetric, names *cluster.ResourceNames) *cluster.Usage {
	usage := &cluster.Usage{Pods: make(map[types.NamespacedName]cluster.PodUsage, len(metric.Status.PodsMetric))}
	if at := metric.Status.UpdateTime; at != nil {
		usage.Updated = at.Time
	}
	if policy := metric.Spec.CollectPolicy; policy != nil && policy.ReportIntervalSeconds != nil {
		usage.Interval = time.Duration(*policy.ReportIntervalSeconds) * time.Second
	}
	if node := metric.Status.NodeMetric; node != nil {
		usage.Node = names.Resources(node.NodeUsage.Resources)
		usage.System = names.Resources(node.SystemUsage.Resources)
		for _, over := range node.AggregatedNodeUsages {
			for statistic, used := range over.Usage {
				usage.Aggregated = append(usage.Aggregated, cluster.Aggregate{
					Type: string(statistic), Duration: over.Duration.Duration, Used: names.Resources(used.Resources),
				})
			}
		}
	}
	for _, pod := range metric.Status.PodsMetric {
		usage.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = cluster.PodUsage{
			Used: names.Resources(pod.PodUsage.Resources), Priority: pod.Priority,
		}
	}
	return usage
}

// resourceMap is what an amount is in a NodeMetric.
func resourceMap(amount cluster.Resources, names *cluster.ResourceNames) v1alpha1.ResourceMap {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(amount.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(amount.Memory, resource.BinarySI),
	}
	if amount.EphemeralStorage > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(amount.EphemeralStorage, resource.BinarySI)
	}
	for i, scalar := range amount.Scalar {
		if scalar > 0 {
			list[names.Name(i)] = *resource.NewQuantity(scalar, resource.DecimalSI)
		}
	}
	return v1alpha1.ResourceMap{Resources: list}
}
