package scaleup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"muster.dev/muster/cluster"
)

// RESTClient is a [Client] of the API server.
type RESTClient struct{ core rest.Interface }

// NewClient writes through a client of the core API.
func NewClient(core rest.Interface) *RESTClient { return &RESTClient{core} }

// SetCondition implements [Client].
func (c *RESTClient) SetCondition(ctx context.Context, pod *corev1.Pod, condition corev1.PodCondition) error {
	return c.patch(ctx, pod, condition)
}

// RemoveCondition implements [Client].
func (c *RESTClient) RemoveCondition(ctx context.Context, pod *corev1.Pod, of corev1.PodConditionType) error {
	return c.patch(ctx, pod, map[string]any{"$patch": "delete", "type": of})
}

// patch merges a condition into the conditions of a pod, whatever its version: others write theirs.
func (c *RESTClient) patch(ctx context.Context, pod *corev1.Pod, condition any) error {
	return cluster.PatchPodStatus(c.core, types.StrategicMergePatchType, pod, map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	}).Do(ctx).Error()
}
