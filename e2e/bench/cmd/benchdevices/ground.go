package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

// nodesOfAGround have more devices than are asked for.
const (
	nodesOfAGround = 500
	patience       = 5 * time.Minute
)

// ground is a real control plane with devices.
type ground struct {
	controlPlane *controlplane.ControlPlane
	programs     contender.Programs
	client       kubernetes.Interface
	dir          string
	job          types.UID // of whom the pods are: those of a gang have somebody who made them
	run          int
}

func newGround(ctx context.Context, progress io.Writer) (_ *ground, err error) {
	g := &ground{}
	if g.dir, err = os.MkdirTemp("", "muster-benchdevices-"); err != nil {
		return nil, err
	}
	if g.programs, err = contender.Build(ctx, g.dir, progress); err != nil {
		return nil, err
	}
	g.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Controllers: append(controlplane.PodCreation(), "resourceclaim-controller", "garbage-collector-controller"), Progress: progress,
	})
	if err != nil {
		return nil, err
	}
	if g.client, err = kubernetes.NewForConfig(g.controlPlane.RESTConfig()); err != nil {
		g.stop()
		return nil, err
	}
	if err := g.furnish(ctx); err != nil {
		g.stop()
		return nil, err
	}
	return g, nil
}

func (g *ground) stop() {
	g.controlPlane.Stop()
	_ = os.RemoveAll(g.dir)
}

// furnish creates the nodes and their devices.
func (g *ground) furnish(ctx context.Context) error {
	cluster := &workload.Cluster{}
	for i := range nodesOfAGround {
		cluster.Nodes = append(cluster.Nodes, node(i))
	}
	cluster.Ready()
	if err := cluster.CreateNodes(ctx, g.client); err != nil {
		return err
	}
	api := g.client.ResourceV1()
	_, classErr := api.DeviceClasses().Create(ctx, deviceClass(), metav1.CreateOptions{})
	_, templateErr := api.ResourceClaimTemplates(workload.Namespace).Create(ctx, claimTemplate(), metav1.CreateOptions{})
	made, jobErr := g.client.BatchV1().Jobs(workload.Namespace).Create(ctx, job(), metav1.CreateOptions{})
	if err := errors.Join(classErr, templateErr, jobErr); err != nil {
		return err
	}
	g.job = made.UID
	for i := range nodesOfAGround {
		if _, err := api.ResourceSlices().Create(ctx, slice(i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// single returns how long a stock kube-scheduler takes to bind single pods.
func (g *ground) single(ctx context.Context) (time.Duration, error) {
	return g.measure(ctx, contender.Stock, func(*corev1.Pod) {})
}

// gang returns how long it takes to bind a gang of as many with muster.
func (g *ground) gang(ctx context.Context) (time.Duration, error) {
	return g.measure(ctx, contender.Extender, func(pod *corev1.Pod) {
		pod.Labels[v1alpha1.LabelMuster] = "ring"
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: strconv.Itoa(gangOfARun)}
	})
}

func (g *ground) measure(ctx context.Context, who contender.Contender, change func(*corev1.Pod)) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %s", patience))
	defer cancel()
	stop, err := g.programs.Start(ctx, g.controlPlane, who, 0)
	if err != nil {
		return 0, err
	}
	defer stop()
	g.run++
	cluster := &workload.Cluster{}
	for i := range gangOfARun {
		pod := claimingPod(fmt.Sprintf("run-%d-%d", g.run, i))
		pod.OwnerReferences[0].UID = g.job
		change(pod)
		cluster.Pods = append(cluster.Pods, pod)
	}
	began := time.Now()
	if err := cluster.CreateWorkloads(ctx, g.client); err != nil {
		return 0, err
	}
	if err := g.await(ctx, func(pods []corev1.Pod) bool {
		bound := 0
		for i := range pods {
			if pods[i].Spec.NodeName != "" {
				bound++
			}
		}
		return bound == gangOfARun
	}); err != nil {
		return 0, err
	}
	took = time.Since(began)
	return took, g.clear(ctx)
}

func (g *ground) await(ctx context.Context, content func([]corev1.Pod) bool) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods, err := g.client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{LabelSelector: measured})
		return err == nil && content(pods.Items), err
	})
}

// clear deletes the pods, and returns once their claims are gone.
func (g *ground) clear(ctx context.Context) error {
	if err := workload.DeletePods(ctx, g.client, measured); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		claims, err := g.client.ResourceV1().ResourceClaims(workload.Namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(claims.Items) == 0, err
	})
}
