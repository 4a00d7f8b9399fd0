package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/lab"
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
	*lab.Lab
	ctx      context.Context //nolint:containedctx // of the whole run
	programs contender.Programs
	out      io.Writer
}

// newGround starts a control plane. The caller must call Close.
func newGround(ctx context.Context, programs contender.Programs, nodes int, out io.Writer) (_ *ground, err error) {
	g := &ground{ctx: ctx, programs: programs, out: out}
	g.Lab, err = lab.Start(ctx, lab.Options{
		Nodes: machines(nodes), ControlPlane: controlplane.Options{Controllers: []string{"resourceclaim-controller"}},
	}, out)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(g.createCSINodes(), g.createNamespaces(), g.createPriority()); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// machines are nodes as upstream's: four cores and 32 GiB each, in three zones of one region.
func machines(count int) []*corev1.Node {
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		nodes[i] = workload.NewNode(fmt.Sprintf("node-%05d", i), "4", workload.Room(32, 110))
		nodes[i].Labels[corev1.LabelTopologyRegion], nodes[i].Labels[corev1.LabelTopologyZone] = oneRegion, fmt.Sprintf("zone-%d", i%3)
	}
	return nodes
}

func (g *ground) createPriority() error {
	_, err := g.Client.SchedulingV1().PriorityClasses().Create(g.ctx, &schedulingv1.PriorityClass{
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
		lab.Each(g.ctx, inFlight, teams, func(ctx context.Context, name string) error {
			return g.createNamespace(ctx, name, map[string]string{team: devops})
		}),
		g.createNamespace(g.ctx, firstNamespace, nil),
		g.createNamespace(g.ctx, secondNamespace, nil),
	)
}

func (g *ground) createNamespace(ctx context.Context, name string, labels map[string]string) error {
	_, err := g.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return g.await(ctx, "the service account of namespace "+name, func(ctx context.Context) (bool, error) {
		_, err := g.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, lab.Ignoring(err, apierrors.IsNotFound)
	})
}

// create creates pods that are not there.
func (g *ground) create(pods []*corev1.Pod) error {
	return lab.Each(g.ctx, inFlight, pods, func(ctx context.Context, p *corev1.Pod) error {
		_, err := g.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		if err = lab.Ignoring(err, apierrors.IsAlreadyExists); err != nil {
			return fmt.Errorf("create pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		return nil
	})
}

// remove deletes pods, and returns when they are gone.
func (g *ground) remove(pods []*corev1.Pod) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	return lab.Each(g.ctx, inFlight, pods, func(ctx context.Context, p *corev1.Pod) error {
		err := g.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, now)
		return lab.Ignoring(err, apierrors.IsNotFound)
	})
}

// await is Await within settleTimeout.
func (g *ground) await(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	return g.Await(ctx, what, settleTimeout, done)
}
