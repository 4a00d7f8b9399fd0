package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	cellTimeout   = 5 * time.Minute
	deleteTimeout = time.Minute
)

// laboratory is a control plane with nodes, on which cells run one after the other.
type laboratory struct {
	controlPlane *controlplane.ControlPlane
	programs     contender.Programs
	client       kubernetes.Interface
	nodes        []*corev1.Node
	settled      []*corev1.Pod // pods that are there throughout
}

// measured labels the pods of a cell.
const measured = "example.com/measured"

// run measures how fast a contender binds the pods, looks whether it was right to put
// them there, and leaves none behind.
func (l laboratory) run(ctx context.Context, c cell, backlog []*corev1.Pod) (rate float64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cellTimeout, fmt.Errorf("gave up after %s", cellTimeout))
	defer cancel()
	for _, p := range backlog {
		p.Labels = maps.Clone(p.Labels) // selectors of the pod may share them
		p.Labels[measured] = ""
	}
	pods := workload.Cluster{Pods: backlog}
	if err := pods.CreateWorkloads(ctx, l.client); err != nil {
		return 0, err
	}
	watch, err := podwatch.StartFor(ctx, l.client, measured)
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
			return watch.Tally().Bound == len(backlog), nil
		}
	})
	if err != nil {
		return 0, fmt.Errorf("%d of %d pods are bound: %w", watch.Tally().Bound, len(backlog), err)
	}
	stop()
	bound, err := watch.Pods()
	if err != nil {
		return 0, err
	}
	if c.contender != contender.EmptyOffload {
		if err := fit.Apart(l.nodes, append(bound, l.settled...)); err != nil {
			return 0, err
		}
	}
	return watch.Tally().Rate(), l.deletePods(ctx)
}

// deletePods deletes at once: there is no kubelet to wait for.
func (l laboratory) deletePods(ctx context.Context) error {
	pods := l.client.CoreV1().Pods(workload.Namespace)
	err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{LabelSelector: measured})
	if err != nil {
		return fmt.Errorf("delete the pods: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deleteTimeout, true, func(ctx context.Context) (bool, error) {
		left, err := pods.List(ctx, metav1.ListOptions{LabelSelector: measured, Limit: 1})
		return err == nil && len(left.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait until the pods are deleted: %w", err)
	}
	return nil
}
