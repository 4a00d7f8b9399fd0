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

var _ cache.TransformFunc = Trim

// Trim makes an Observed of each NodeMetric that the watch shows.
func Trim(object any) (any, error) {
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
	observed.Spec, observed.Usage = metric.Spec, usageOf(metric)
	return observed, nil
}

// usageOf is what a NodeMetric says. Without an updateTime it is of no age that anybody
// believes, whatever else it says.
func usageOf(metric *v1alpha1.NodeMetric) *cluster.Usage {
	usage := &cluster.Usage{Pods: make(map[types.NamespacedName]cluster.PodUsage, len(metric.Status.PodsMetric))}
	if at := metric.Status.UpdateTime; at != nil {
		usage.Updated = at.Time
	}
	if policy := metric.Spec.CollectPolicy; policy != nil && policy.ReportIntervalSeconds != nil {
		usage.Interval = time.Duration(*policy.ReportIntervalSeconds) * time.Second
	}
	if node := metric.Status.NodeMetric; node != nil {
		usage.Node = cluster.ResourcesOf(node.NodeUsage.Resources)
		usage.System = cluster.ResourcesOf(node.SystemUsage.Resources)
		for _, over := range node.AggregatedNodeUsages {
			for statistic, used := range over.Usage {
				usage.Aggregated = append(usage.Aggregated, cluster.Aggregate{
					Type: string(statistic), Duration: over.Duration.Duration, Used: cluster.ResourcesOf(used.Resources),
				})
			}
		}
	}
	for _, pod := range metric.Status.PodsMetric {
		usage.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = cluster.PodUsage{
			Used: cluster.ResourcesOf(pod.PodUsage.Resources), Priority: pod.Priority,
		}
	}
	return usage
}

// resourceMap is what an amount is in a NodeMetric.
func resourceMap(amount cluster.Resources) v1alpha1.ResourceMap {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(amount.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(amount.Memory, resource.BinarySI),
	}
	if amount.EphemeralStorage > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(amount.EphemeralStorage, resource.BinarySI)
	}
	for _, scalar := range amount.Scalars {
		if scalar.Amount > 0 {
			list[scalar.Name.Value()] = *resource.NewQuantity(scalar.Amount, resource.DecimalSI)
		}
	}
	return v1alpha1.ResourceMap{Resources: list}
}
