package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

// ground is a control plane with a scheduler and the muster that it asks.
type ground struct {
	*lab.Lab
	options muster.Options
	muster  *muster.Server
	// rescheduler is nil until one runs.
	rescheduler *muster.Rescheduler
}

// newGround starts everything but a rescheduler, whose configuration is given. The caller must call Close.
func newGround(ctx context.Context, rescheduler map[string]any, out io.Writer) (_ *ground, err error) {
	g := &ground{}
	controllers := []string{"replicaset-controller", "disruption-controller", "pod-garbage-collector-controller"}
	g.Lab, err = lab.Start(ctx, lab.Options{
		CRDs: true, KWOK: true, Poll: poll, ControlPlane: controlplane.Options{Controllers: controllers},
	}, out)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	g.options = muster.Options{ControlPlane: g.ControlPlane, Progress: out, Config: map[string]any{"rescheduler": rescheduler}}
	if g.muster, err = muster.Start(ctx, g.options); err != nil {
		return nil, err
	}
	g.OnClose(g.muster.Stop)
	config, err := g.muster.SchedulerConfig(ctx)
	if err != nil {
		return nil, err
	}
	return g, g.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config})
}

// reschedule starts a rescheduler.
func (g *ground) reschedule(ctx context.Context) error {
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	g.rescheduler, err = g.muster.Reschedule(ctx, g.options, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		g.OnClose(g.rescheduler.Stop)
	}
	return err
}

// newNode is a node that KWOK keeps ready. It takes pods once somebody has taken the taint off, as a node controller does:
// KWOK does nothing for pods that come before it knows of their node.
func newNode(name string) *corev1.Node {
	node := workload.NewNode(name, workload.Milli(1000*cores), workload.Room(gibibytes, 110))
	node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Conditions = nil
	return node
}

func (g *ground) createNode(ctx context.Context, node *corev1.Node) error {
	if _, err := g.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %s: %w", node.Name, err)
	}
	return nil
}

// newSet returns a workload of a number of pods.
func newSet(name string, replicas int32, milliCPU, mebibytes int64) *appsv1.ReplicaSet {
	set := map[string]string{"app": name}
	pod := workload.NewPod("", workload.Milli(milliCPU)).Spec
	pod.TerminationGracePeriodSeconds = new(int64(1))
	pod.Containers[0].Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(mebibytes<<20, resource.BinarySI)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: pod},
		},
	}
}

func (g *ground) createSet(ctx context.Context, set *appsv1.ReplicaSet) error {
	if _, err := g.Client.AppsV1().ReplicaSets(workload.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create ReplicaSet %s: %w", set.Name, err)
	}
	return nil
}

// isTaken says that a pod takes room on a node, or wants some.
func isTaken(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func isReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
