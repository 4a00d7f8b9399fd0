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
	"muster.dev/muster/loadaware/source"
)

// Observed holds the parts of a NodeMetric that are kept.
type Observed struct {
	metav1.PartialObjectMetadata
	Spec v1alpha1.NodeMetricSpec
	// Usage is the usage in its status; see [cluster.Cluster.SetUsage].
	Usage *cluster.Usage
	// Refused lists the absurd figures in its status, Unmeasured says that its node counts as not measured
	// because of them. Usage leaves out pods and statistics with absurd figures.
	Refused    []source.Refusal
	Unmeasured bool
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
	observed.Spec = metric.Spec
	observed.read(metric)
	return observed, nil
}

// read reads the status of a NodeMetric. Without an updateTime it is of no age that anybody believes,
// whatever else it says.
func (o *Observed) read(metric *v1alpha1.NodeMetric) {
	usage := &cluster.Usage{Pods: make(map[types.NamespacedName]cluster.PodUsage, len(metric.Status.PodsMetric))}
	o.Usage = usage
	if policy := metric.Spec.CollectPolicy; policy != nil && policy.ReportIntervalSeconds != nil {
		usage.Interval = time.Duration(*policy.ReportIntervalSeconds) * time.Second
	}
	at := metric.Status.UpdateTime
	if at == nil {
		return
	}
	usage.Updated = at.Time
	node := metric.Status.NodeMetric
	if node == nil {
		node = &v1alpha1.NodeMetricInfo{}
	}
	o.Refused = source.Believe(o.Name, node.NodeUsage.Resources)
	o.Refused = append(o.Refused, source.BelowNothing(o.Name, node.SystemUsage.Resources)...)
	o.Unmeasured = len(o.Refused) > 0
	usage.Node = cluster.ResourcesOf(node.NodeUsage.Resources)
	usage.System = cluster.ResourcesOf(node.SystemUsage.Resources)
	for _, over := range node.AggregatedNodeUsages {
		for statistic, used := range over.Usage {
			if len(used.Resources) == 0 || len(source.Believe(o.Name, used.Resources)) > 0 {
				continue // there is no such statistic
			}
			usage.Aggregated = append(usage.Aggregated, cluster.Aggregate{
				Type: string(statistic), Duration: over.Duration.Duration, Used: cluster.ResourcesOf(used.Resources),
			})
		}
	}
	for i := range metric.Status.PodsMetric {
		pod := &metric.Status.PodsMetric[i]
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		refused, measured := source.BelievePod(name, pod.PodUsage.Resources)
		if o.Refused = append(o.Refused, refused...); measured {
			usage.Pods[name] = cluster.PodUsage{Used: cluster.ResourcesOf(pod.PodUsage.Resources), Priority: pod.Priority}
		}
	}
}

// resourceMap writes an amount as NodeMetrics do.
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
