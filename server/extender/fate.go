package extender

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

// became finds out what became of a binding that was sent or not, and ended with an error or nil.
func (b *pods) became(ctx context.Context, pod *cluster.Pod, node string, err error, sent bool) fate {
	switch {
	case err == nil:
		return fateBound
	case !sent, refused(err) && !apierrors.IsConflict(err):
		return fateNot
	case failed(err):
		return b.fateOf(ctx, pod, node)
	case b.boundThere(ctx, pod, node):
		return fateBound
	case refused(err):
		return fateNot
	default:
		return fateUnknown
	}
}

// unanswered is how long the API server may still bind the pod after a call whose fate is unknown, and the watch may
// still have to show it. Then it counts there no more.
const unanswered = 5 * time.Second

// refused reports whether the API server has answered, and has not done what it was asked to.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError
}

// failed reports whether the API server has answered that it does not know the outcome of a request which is
// over. A request that it gave up waiting for (504) may go on.
func failed(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= http.StatusInternalServerError &&
		answer.Status().Code != http.StatusGatewayTimeout
}

// boundThere reports whether the pod is on the node already, as it is when a call
// was repeated after its answer was lost.
func (b *pods) boundThere(ctx context.Context, pod *cluster.Pod, node string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fateTime)
	defer cancel()
	there, err := b.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	return err == nil && there.UID == pod.UID && there.Spec.NodeName == node
}

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
