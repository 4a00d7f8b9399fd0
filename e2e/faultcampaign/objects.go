package faultcampaign

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// NewPod makes a pod of a priority class that asks for CPU.
func NewPod(name string, milliCPU int64, priority string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace},
		Spec: corev1.PodSpec{
			PriorityClassName: priority, TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)},
			}}},
		},
	}
}

// NewNode makes a node that is ready.
func NewNode(name string, cores int64) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:  *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourcePods: *resource.NewQuantity(20, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated"}},
		},
	}
}

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
