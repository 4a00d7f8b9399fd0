package source

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"muster.dev/muster/cluster"
)

// MetricsAPI reads metrics.k8s.io, which metrics-server serves.
type MetricsAPI struct {
	client metricsv1beta1.MetricsV1beta1Interface
	names  *cluster.ResourceNames
}

var _ Reader = (*MetricsAPI)(nil)

// NewMetricsAPI returns a Reader of metrics.k8s.io that counts resources by the names of the view.
func NewMetricsAPI(client metricsv1beta1.MetricsV1beta1Interface, names *cluster.ResourceNames) *MetricsAPI {
	return &MetricsAPI{client: client, names: names}
}

// Read implements Reader.
func (m *MetricsAPI) Read(ctx context.Context) (*Reading, error) {
	nodes, err := m.client.NodeMetricses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes of metrics.k8s.io: %w", err)
	}
	pods, err := m.client.PodMetricses(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods of metrics.k8s.io: %w", err)
	}
	reading := &Reading{
		Nodes: make(map[string]NodeReading, len(nodes.Items)),
		Pods:  make(map[types.NamespacedName]cluster.Resources, len(pods.Items)),
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		reading.Nodes[node.Name] = NodeReading{
			At: node.Timestamp.Time, Window: node.Window.Duration, Used: m.names.Resources(node.Usage),
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		var used cluster.Resources
		for j := range pod.Containers {
			used = plus(used, m.names.Resources(pod.Containers[j].Usage))
		}
		reading.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = used
	}
	return reading, nil
}

// plus is a sum of amounts.
func plus(a, b cluster.Resources) cluster.Resources {
	sum := cluster.Resources{
		MilliCPU:         a.MilliCPU + b.MilliCPU,
		Memory:           a.Memory + b.Memory,
		EphemeralStorage: a.EphemeralStorage + b.EphemeralStorage,
	}
	for i := range max(len(a.Scalar), len(b.Scalar)) {
		sum.Scalar = append(sum.Scalar, a.ScalarAt(i)+b.ScalarAt(i))
	}
	return sum
}
