package extender

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
)

// fate says whether a binding was made.
type fate int

const (
	fateUnknown fate = iota
	fateBound        // the pod is on the node
	fateNot          // it is not, and will not be by that request
)

// fateTime bounds how long it takes to find out.
const fateTime = time.Second

// fateOf finds out the outcome of a request to bind that has [failed]. It writes to the pod, and so reads it
// back. If the pod is without a node, nothing binds it any more: the API server has ended the request, and etcd
// can only go on with a version of the pod that is gone. A read would leave that open. Where the API server has
// not answered, a write settles nothing: it binds the version that it finds when it tries again.
func (b *pods) fateOf(ctx context.Context, pod *cluster.Pod, node string) fate {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fateTime)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{nomination.AnnotationWoken: time.Now().UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return fateUnknown
	}
	there, err := b.client.CoreV1().Pods(pod.Namespace).Patch(
		ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status",
	)
	switch {
	case apierrors.IsNotFound(err):
		return fateNot
	case err != nil:
		return fateUnknown
	case there.UID == pod.UID && there.Spec.NodeName == node:
		return fateBound
	default:
		return fateNot
	}
}
