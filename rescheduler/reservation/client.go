package reservation

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// callTimeout is how long the API server may take to answer.
const callTimeout = 10 * time.Second

// RESTWriter is a [Writer] to the API server.
type RESTWriter struct{ plans dynamic.ResourceInterface }

// NewWriter makes one.
func NewWriter(objects dynamic.Interface) *RESTWriter {
	return &RESTWriter{plans: objects.Resource(v1alpha1.ReschedulingPlans())}
}

// UpdateStatus implements [Writer].
func (w *RESTWriter) UpdateStatus(ctx context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object, err := v1alpha1.Encode(plan)
	if err != nil {
		return nil, err
	}
	written, err := w.plans.UpdateStatus(ctx, object, metav1.UpdateOptions{FieldManager: cluster.FieldManager})
	if err != nil {
		return nil, err
	}
	return v1alpha1.Decode(written)
}
