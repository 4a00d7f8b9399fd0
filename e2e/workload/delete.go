package workload

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const deleteTimeout = time.Minute

// DeletePods deletes the pods that a label selector selects, at once: there is no kubelet
// to wait for. It returns when they are gone.
func DeletePods(ctx context.Context, client kubernetes.Interface, selector string) error {
	pods := client.CoreV1().Pods(Namespace)
	err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("delete the pods: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deleteTimeout, true, func(ctx context.Context) (bool, error) {
		left, err := pods.List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: 1})
		return err == nil && len(left.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait until the pods are deleted: %w", err)
	}
	return nil
}
