package questions

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/cluster"
)

// callTimeout is how long the API server may take to answer.
const callTimeout = 10 * time.Second

// RESTClient is a [Client] of the API server.
type RESTClient struct {
	objects dynamic.NamespaceableResourceInterface
}

// NewClient makes one.
func NewClient(objects dynamic.Interface) *RESTClient {
	return &RESTClient{objects: objects.Resource(v1alpha1.Questions())}
}

// Answer implements [Client].
func (c *RESTClient) Answer(ctx context.Context, asked Asked, status *v1alpha1.QuestionStatus) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": asked.UID, "resourceVersion": asked.Version}, "status": status,
	})
	if err != nil {
		return err
	}
	_, err = c.objects.Namespace(asked.Namespace).
		Patch(ctx, asked.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status")
	return err
}

// Delete implements [Client].
func (c *RESTClient) Delete(ctx context.Context, asked Asked) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.objects.Namespace(asked.Namespace).
		Delete(ctx, asked.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(asked.UID))})
}
