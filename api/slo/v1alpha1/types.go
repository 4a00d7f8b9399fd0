package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What a NodeMetric is called in the API.
const (
	Group    = "slo.koordinator.sh"
	Version  = "v1alpha1"
	Kind     = "NodeMetric"
	Resource = "nodemetrics"
)

// NodeMetrics is the resource.
func NodeMetrics() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: Resource}
}

// NodeMetric holds the usage of the node of its name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nm
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=muster"
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.status.nodeMetric.nodeUsage.resources.cpu`,description="The CPU that the node uses."
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.status.nodeMetric.nodeUsage.resources.memory`,description="The memory that the node uses."
// +kubebuilder:printcolumn:name="Updated",type=date,JSONPath=`.status.updateTime`,description="When that was measured."
type NodeMetric struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How usage is collected.
	//
	// +optional
	Spec NodeMetricSpec `json:"spec,omitempty"`
	// What was collected.
	//
	// +optional
	Status NodeMetricStatus `json:"status,omitempty"`
}

// NodeMetricSpec says how usage is collected.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NodeMetricSpec struct {
	// How usage is collected.
	//
	// +optional
	CollectPolicy *NodeMetricCollectPolicy `json:"metricCollectPolicy,omitempty"`
}

// NodeMetricCollectPolicy says how usage is collected.
type NodeMetricCollectPolicy struct {
	// The time that nodeUsage is an average over, in seconds.
	//
	// +optional
	AggregateDurationSeconds *int64 `json:"aggregateDurationSeconds,omitempty"`
	// The time between two reports, in seconds.
	//
	// +optional
	ReportIntervalSeconds *int64 `json:"reportIntervalSeconds,omitempty"`
	// What statistics are reported.
	//
	// +optional
	NodeAggregatePolicy *AggregatePolicy `json:"nodeAggregatePolicy,omitempty"`
}

// AggregatePolicy says what statistics are reported.
type AggregatePolicy struct {
	// The times that statistics are over, such as 5m.
	//
	// +optional
	Durations []metav1.Duration `json:"durations,omitempty"`
}

// NodeMetricStatus holds the usage of a node and its pods.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NodeMetricStatus struct {
	// When usage was last measured; unset until then.
	//
	// +optional
	UpdateTime *metav1.Time `json:"updateTime,omitempty"`
	// What the node uses.
	//
	// +optional
	NodeMetric *NodeMetricInfo `json:"nodeMetric,omitempty"`
	// What its pods use.
	//
	// +optional
	PodsMetric []PodMetricInfo `json:"podsMetric,omitempty"`
}

// NodeMetricInfo holds the usage of a node.
type NodeMetricInfo struct {
	// What the whole node uses, pods included.
	//
	// +optional
	NodeUsage ResourceMap `json:"nodeUsage,omitempty"`
	// Statistics of nodeUsage, one entry for each length of time.
	//
	// +optional
	AggregatedNodeUsages []AggregatedUsage `json:"aggregatedNodeUsages,omitempty"`
	// What the node uses beside its pods.
	//
	// +optional
	SystemUsage ResourceMap `json:"systemUsage,omitempty"`
}

// AggregationType is a statistic.
type AggregationType string

// The statistics.
const (
	Average AggregationType = "avg"
	P50     AggregationType = "p50"
	P90     AggregationType = "p90"
	P95     AggregationType = "p95"
	P99     AggregationType = "p99"
)

// AggregatedUsage are statistics of usage over some time.
type AggregatedUsage struct {
	// The values by statistic: avg, p50, p90, p95 and p99.
	//
	// +optional
	Usage map[AggregationType]ResourceMap `json:"usage,omitempty"`
	// The time that they are over, such as 5m.
	//
	// +optional
	Duration metav1.Duration `json:"duration,omitempty"`
}

// ResourceMap are amounts of resources.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ResourceMap struct {
	// The amounts by resource.
	//
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// PodMetricInfo holds the usage of a pod.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PodMetricInfo struct {
	// The name of the pod.
	//
	// +optional
	Name string `json:"name,omitempty"`
	// The namespace of the pod.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// What the pod uses.
	//
	// +optional
	PodUsage ResourceMap `json:"podUsage,omitempty"`
	// The priority class of the pod: koord-prod, koord-mid, koord-batch or koord-free.
	//
	// +optional
	Priority string `json:"priority,omitempty"`
	// The QoS class of the pod, by Koordinator's names.
	//
	// +optional
	QoS string `json:"qos,omitempty"`
}

// NodeMetricList is a list of NodeMetrics.
//
// +kubebuilder:object:root=true
type NodeMetricList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeMetric `json:"items"`
}
