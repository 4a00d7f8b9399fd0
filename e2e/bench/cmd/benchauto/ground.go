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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

// ground is a control plane with a scheduler and the muster that it asks.
type ground struct {
	controlPlane *controlplane.ControlPlane
	options      muster.Options
	muster       *muster.Server
	rescheduler  *muster.Rescheduler // nil until one runs
	client       kubernetes.Interface
}

// newGround starts everything but a rescheduler, whose configuration is given. The caller must call close.
func newGround(ctx context.Context, rescheduler map[string]any, out io.Writer) (g *ground, err error) {
	g = &ground{}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	controllers := append(controlplane.PodCreation(), "replicaset-controller", "disruption-controller", "pod-garbage-collector-controller")
	if g.controlPlane, err = controlplane.Start(ctx, controlplane.Options{Controllers: controllers, Progress: out}); err != nil {
		return g, err
	}
	if g.client, err = kubernetes.NewForConfig(g.controlPlane.RESTConfig()); err != nil {
		return g, fmt.Errorf("connect to the control plane: %w", err)
	}
	objects, err := dynamic.NewForConfig(g.controlPlane.RESTConfig())
	if err != nil {
		return g, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := muster.CreateCRDs(ctx, objects); err != nil {
		return g, err
	}
	if err := g.controlPlane.StartKWOK(ctx); err != nil {
		return g, err
	}
	g.options = muster.Options{ControlPlane: g.controlPlane, Progress: out, Config: map[string]any{"rescheduler": rescheduler}}
	if g.muster, err = muster.Start(ctx, g.options); err != nil {
		return g, err
	}
	config, err := g.muster.SchedulerConfig(ctx)
	if err != nil {
		return g, err
	}
	return g, g.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config})
}

// reschedule starts a rescheduler.
func (g *ground) reschedule(ctx context.Context) error {
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	g.rescheduler, err = g.muster.Reschedule(ctx, g.options, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return err
}

// close ends everything.
func (g *ground) close() {
	if g.controlPlane == nil {
		return
	}
	if g.rescheduler != nil {
		g.rescheduler.Stop()
	}
	if g.muster != nil {
		g.muster.Stop()
	}
	g.controlPlane.Stop()
}

// newNode is a node that KWOK keeps ready. It takes pods once somebody has taken the taint off, as a node controller does:
// KWOK does nothing for pods that come before it knows of their node.
func newNode(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(gibibytes<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelHostname: name}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

func (g *ground) createNode(ctx context.Context, node *corev1.Node) error {
	if _, err := g.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %s: %w", node.Name, err)
	}
	return nil
}

// newSet is a workload of so many pods.
func newSet(name string, replicas int32, milliCPU, mebibytes int64) *appsv1.ReplicaSet {
	set := map[string]string{"app": name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{Name: "main", Image: "example.com/main", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{
						corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
						corev1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
					},
				}}},
			}},
		},
	}
}

func (g *ground) createSet(ctx context.Context, set *appsv1.ReplicaSet) error {
	if _, err := g.client.AppsV1().ReplicaSets(workload.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
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
