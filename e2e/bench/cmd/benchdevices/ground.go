package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

const patience = 5 * time.Minute

// ground is a real control plane with devices, more than are asked for.
type ground struct {
	*lab.Lab
	programs contender.Programs
	job      types.UID // the pods' owner: pods of a gang have one
	run      int
	pods     int // that are measured
}

// newGround starts everything. The caller must call Close.
func newGround(ctx context.Context, count, pods int, progress io.Writer) (_ *ground, err error) {
	g := &ground{pods: pods}
	programs, remove, err := contender.Build(ctx, progress)
	if err != nil {
		return nil, err
	}
	var nodes []*corev1.Node
	for i := range count {
		nodes = append(nodes, node(i))
	}
	g.programs = programs
	g.Lab, err = lab.Start(ctx, lab.Options{
		Nodes: nodes, Poll: 20 * time.Millisecond,
		ControlPlane: controlplane.Options{Controllers: []string{"resourceclaim-controller", "garbage-collector-controller"}},
	}, progress)
	if err != nil {
		remove()
		return nil, err
	}
	g.OnClose(remove)
	if err := g.furnish(ctx); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// furnish creates the devices of the nodes.
func (g *ground) furnish(ctx context.Context) error {
	api := g.Client.ResourceV1()
	_, classErr := api.DeviceClasses().Create(ctx, deviceClass(), metav1.CreateOptions{})
	_, templateErr := api.ResourceClaimTemplates(workload.Namespace).Create(ctx, claimTemplate(), metav1.CreateOptions{})
	made, jobErr := g.Client.BatchV1().Jobs(workload.Namespace).Create(ctx, job(), metav1.CreateOptions{})
	if err := errors.Join(classErr, templateErr, jobErr); err != nil {
		return err
	}
	g.job = made.UID
	for i := range g.Nodes {
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
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: strconv.Itoa(g.pods)}
	})
}

func (g *ground) measure(ctx context.Context, who contender.Contender, change func(*corev1.Pod)) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %s", patience))
	defer cancel()
	stop, err := g.programs.Start(ctx, g.ControlPlane, who, 0)
	if err != nil {
		return 0, err
	}
	defer stop()
	g.run++
	cluster := &workload.Cluster{}
	for i := range g.pods {
		pod := claimingPod(fmt.Sprintf("run-%d-%d", g.run, i))
		pod.OwnerReferences[0].UID = g.job
		change(pod)
		cluster.Pods = append(cluster.Pods, pod)
	}
	began := time.Now()
	if err := cluster.CreateWorkloads(ctx, g.Client); err != nil {
		return 0, err
	}
	if err := g.await(ctx, func(pods []corev1.Pod) bool {
		bound := 0
		for i := range pods {
			if pods[i].Spec.NodeName != "" {
				bound++
			}
		}
		return bound == g.pods
	}); err != nil {
		return 0, err
	}
	took = time.Since(began)
	return took, g.clear(ctx)
}

func (g *ground) await(ctx context.Context, content func([]corev1.Pod) bool) error {
	return g.Await(ctx, "all pods to be bound", patience, func(ctx context.Context) (bool, error) {
		pods, err := g.Client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{LabelSelector: measured})
		return err == nil && content(pods.Items), err
	})
}

// clear deletes the pods, and returns once their claims are gone.
func (g *ground) clear(ctx context.Context) error {
	if err := workload.DeletePods(ctx, g.Client, measured); err != nil {
		return err
	}
	return g.Await(ctx, "the claims to be gone", patience, func(ctx context.Context) (bool, error) {
		claims, err := g.Client.ResourceV1().ResourceClaims(workload.Namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(claims.Items) == 0, err
	})
}
