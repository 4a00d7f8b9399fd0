package faultcampaign

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// CreatePod creates a pod.
func (l *Lane) CreatePod(ctx context.Context, pod *corev1.Pod) error {
	_, err := l.Client.CoreV1().Pods(workload.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return UnlessDone(err, "create pod", pod.Name)
}

// DeletePod deletes a pod.
func (l *Lane) DeletePod(ctx context.Context, name string) error {
	return UnlessDone(l.Client.CoreV1().Pods(workload.Namespace).Delete(ctx, name, metav1.DeleteOptions{}), "delete pod", name)
}

// CreateNode creates a node.
func (l *Lane) CreateNode(ctx context.Context, node *corev1.Node) error {
	_, err := l.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return UnlessDone(err, "create node", node.Name)
}

// DeleteNode deletes a node.
func (l *Lane) DeleteNode(ctx context.Context, name string) error {
	return UnlessDone(l.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}), "delete node", name)
}

// Cordon closes a node, or opens it again.
func (l *Lane) Cordon(ctx context.Context, name string, closed bool) error {
	patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, closed)
	_, err := l.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return UnlessDone(err, "cordon node", name)
}

// UnlessDone is the error of doing something to an object, but that it is not there, or is there
// already: others were faster.
func UnlessDone(err error, do, name string) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("%s %s: %w", do, name, err)
}
