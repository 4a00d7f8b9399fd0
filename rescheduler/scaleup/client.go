package scaleup

import (
	"context"
	"encoding/json"

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
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	})
	if err != nil {
		return err
	}
	return c.core.Patch(types.StrategicMergePatchType).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		SubResource("status").Param("fieldManager", cluster.FieldManager).Body(patch).Do(ctx).Error()
}
