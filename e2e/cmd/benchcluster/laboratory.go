package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	cellTimeout   = 5 * time.Minute
	deleteTimeout = time.Minute

	// owners is how many controllers the pods of a cell belong to, in turn.
	owners = 10
)

// laboratory is a control plane with nodes, on which cells run one after the other.
type laboratory struct {
	controlPlane *controlplane.ControlPlane
	programs     contender.Programs
	client       kubernetes.Interface
}

// run measures a cell and leaves no pod behind.
func (l laboratory) run(ctx context.Context, c cell, pods int) (rate float64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cellTimeout, fmt.Errorf("gave up after %s", cellTimeout))
	defer cancel()
	backlog := workload.Cluster{Pods: backlog(pods)}
	if err := backlog.CreateWorkloads(ctx, l.client); err != nil {
		return 0, err
	}
	watch, err := podwatch.Start(ctx, l.client)
	if err != nil {
		return 0, err
	}
	defer watch.Stop()
	stop, err := l.programs.Start(ctx, l.controlPlane, c.contender, c.percentage())
	if err != nil {
		return 0, err
	}
	defer stop()
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		select {
		case err := <-l.controlPlane.Failed():
			return false, err
		default:
			return watch.Tally().Bound == pods, nil
		}
	})
	if err != nil {
		return 0, fmt.Errorf("%d of %d pods are bound: %w", watch.Tally().Bound, pods, err)
	}
	stop()
	return watch.Tally().Rate(), l.deletePods(ctx)
}

// deletePods deletes at once: there is no kubelet to wait for.
func (l laboratory) deletePods(ctx context.Context) error {
	pods := l.client.CoreV1().Pods(workload.Namespace)
	err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("delete the pods: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deleteTimeout, true, func(ctx context.Context) (bool, error) {
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil && len(left.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait until the pods are deleted: %w", err)
	}
	return nil
}

// backlog makes pods of ten controllers in turn, small enough that all fit.
func backlog(pods int) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range pods {
		owner := i % owners
		app := fmt.Sprintf("app-%d", owner)
		all = append(all, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%05d", i), Namespace: workload.Namespace,
				Labels: map[string]string{"app": app},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID("uid-of-" + app), Controller: new(true),
				}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(50*(1+owner)), resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(int64(1+owner)<<26, resource.BinarySI),
				}},
			}}},
		})
	}
	return all
}
