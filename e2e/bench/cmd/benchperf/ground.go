package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

const (
	settleTimeout = 3 * time.Minute
	// inFlight is how many objects are created or deleted at a time.
	inFlight  = 16
	highValue = 10
)

// ground is a control plane with nodes and everything that the workloads refer to.
type ground struct {
	ctx          context.Context //nolint:containedctx // of the whole run
	controlPlane *controlplane.ControlPlane
	programs     contender.Programs
	client       kubernetes.Interface
	nodes        []*corev1.Node
	out          io.Writer
}

// newGround starts a control plane. The caller must stop it.
func newGround(ctx context.Context, programs contender.Programs, nodes int, out io.Writer) (_ *ground, err error) {
	g := &ground{ctx: ctx, programs: programs, out: out, nodes: machines(nodes)}
	g.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Controllers: append(controlplane.PodCreation(), "resourceclaim-controller"), Progress: out,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.controlPlane.Stop()
		}
	}()
	if g.client, err = kubernetes.NewForConfig(g.controlPlane.RESTConfig()); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	cluster := workload.Cluster{Nodes: g.nodes}
	cluster.Ready()
	if err := cluster.CreateNodes(ctx, g.client); err != nil {
		return nil, err
	}
	return g, errors.Join(g.createCSINodes(), g.createNamespaces(), g.createPriority())
}

// machines are nodes as upstream's: four cores and 32 GiB each, in three zones of one region.
func machines(count int) []*corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		nodes[i] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelTopologyRegion: oneRegion, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
			}},
			Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
		}
	}
	return nodes
}

func (g *ground) createPriority() error {
	_, err := g.client.SchedulingV1().PriorityClasses().Create(g.ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: highPriority}, Value: highValue,
	}, metav1.CreateOptions{})
	return err
}

// createNamespaces returns when pods can be created in all of them.
func (g *ground) createNamespaces() error {
	teams := []string{measureTeam}
	for i := range initTeams {
		teams = append(teams, initTeam(i))
	}
	return errors.Join(
		each(g.ctx, teams, func(ctx context.Context, name string) error {
			return g.createNamespace(ctx, name, map[string]string{team: devops})
		}),
		g.createNamespace(g.ctx, firstNamespace, nil),
		g.createNamespace(g.ctx, secondNamespace, nil),
	)
}

func (g *ground) createNamespace(ctx context.Context, name string, labels map[string]string) error {
	_, err := g.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return g.await(ctx, "the service account of namespace "+name, func(ctx context.Context) (bool, error) {
		_, err := g.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, ignoring(err, apierrors.IsNotFound)
	})
}

// create creates pods that are not there.
func (g *ground) create(pods []*corev1.Pod) error {
	return each(g.ctx, pods, func(ctx context.Context, p *corev1.Pod) error {
		_, err := g.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		if err = ignoring(err, apierrors.IsAlreadyExists); err != nil {
			return fmt.Errorf("create pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		return nil
	})
}

// remove deletes pods, and returns when they are gone.
func (g *ground) remove(pods []*corev1.Pod) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	return each(g.ctx, pods, func(ctx context.Context, p *corev1.Pod) error {
		err := g.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, now)
		return ignoring(err, apierrors.IsNotFound)
	})
}

// errOverdue says that something was not done within settleTimeout.
var errOverdue = errors.New("overdue")

// await returns when something is done, unless the control plane fails. An error is errOverdue when it takes too long.
func (g *ground) await(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleTimeout, fmt.Errorf("%w: waited %s for %s", errOverdue, settleTimeout, what))
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-g.controlPlane.Failed():
			return false, err
		default:
			return done(ctx)
		}
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// ignoring is nil for an error that does not matter.
func ignoring(err error, is func(error) bool) error {
	if err != nil && is(err) {
		return nil
	}
	return err
}
