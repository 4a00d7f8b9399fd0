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

// fateOf finds out what became of a request to bind that was not refused and has not succeeded. It writes to the pod, and
// so reads it back. If the pod is without a node, the request comes too late from then on: the API server makes a binding
// of a version of the pod that it has read, and that version is no more. A read would leave open what a request does that
// is still under way, as where etcd did not answer in time.
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
