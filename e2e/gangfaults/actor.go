package gangfaults

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// What scripts do to objects. That one is not there, or is there already, is as good: others
// were faster.

func (r *run) createPod(ctx context.Context, pod *corev1.Pod) error {
	_, err := r.lane.client.CoreV1().Pods(workload.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return unlessDone(err, "create pod", pod.Name)
}

func (r *run) deletePod(ctx context.Context, name string) error {
	err := r.lane.client.CoreV1().Pods(workload.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	return unlessDone(err, "delete pod", name)
}

func (r *run) createNode(ctx context.Context, node *corev1.Node) error {
	_, err := r.lane.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return unlessDone(err, "create node", node.Name)
}

func (r *run) deleteNode(ctx context.Context, name string) error {
	err := r.lane.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	return unlessDone(err, "delete node", name)
}

func (r *run) cordon(ctx context.Context, name string, closed bool) error {
	patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, closed)
	_, err := r.lane.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return unlessDone(err, "cordon node", name)
}

func (r *run) podGroups(like *unstructured.Unstructured) dynamic.ResourceInterface {
	return r.lane.dynamic.Resource(v1alpha1.ResourceOf(like.GroupVersionKind().Group)).Namespace(workload.Namespace)
}

func (r *run) createPodGroup(ctx context.Context, group *unstructured.Unstructured) error {
	_, err := r.podGroups(group).Create(ctx, group, metav1.CreateOptions{})
	return unlessDone(err, "create PodGroup", group.GetName())
}

func (r *run) deletePodGroup(ctx context.Context, group *unstructured.Unstructured) error {
	err := r.podGroups(group).Delete(ctx, group.GetName(), metav1.DeleteOptions{})
	return unlessDone(err, "delete PodGroup", group.GetName())
}

func (r *run) editMinMember(ctx context.Context, group *unstructured.Unstructured, to int) error {
	patch := fmt.Appendf(nil, `{"spec": {"minMember": %d}}`, to)
	_, err := r.podGroups(group).Patch(ctx, group.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return unlessDone(err, "edit PodGroup", group.GetName())
}

func unlessDone(err error, do, name string) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("%s %s: %w", do, name, err)
}
