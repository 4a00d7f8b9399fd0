package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

const (
	seed = 1
	gang = "thousand"
	// patience is how long a gang may take to start.
	patience = 5 * time.Minute
)

// ground is a control plane with nodes and a busy core, on which gangs start one after the other.
type ground struct {
	*lab.Lab
	binary  string // muster
	members int
}

// newGround makes the ground. The caller must call Close.
func newGround(ctx context.Context, members int, out io.Writer) (_ *ground, err error) {
	g := &ground{members: members}
	nodes := workload.Generate(workload.Shape{Nodes: members, Seed: seed}).Nodes
	if g.Lab, err = lab.Start(ctx, lab.Options{Nodes: nodes, CRDs: true, Poll: 20 * time.Millisecond}, out); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if g.binary, err = binaries.BuildMuster(ctx, out); err != nil {
		return nil, err
	}
	busy, err := process.Start(process.Spec{
		Name: "busy core", Path: "/bin/sh", Args: []string{"-c", "while :; do :; done"}, Log: filepath.Join(g.Dir(), "busy.log"),
	})
	if err != nil {
		return nil, err
	}
	g.OnClose(busy.Kill)
	return g, nil
}

// start has a gang start while each call of kube-scheduler and muster takes longer, and leaves nothing behind.
func (g *ground) start(ctx context.Context, delay time.Duration) (came start, err error) {
	way, err := newWay(g.ControlPlane, delay)
	if err != nil {
		return came, err
	}
	defer way.close()
	server, err := g.schedule(ctx, way)
	if err != nil {
		return came, err
	}
	defer server.Stop()
	defer g.StopScheduler()
	if err := g.createGroup(ctx); err != nil {
		return came, err
	}
	watch, err := podwatch.Start(ctx, g.Client)
	if err != nil {
		return came, err
	}
	defer watch.Stop()
	began := time.Now()
	pods := workload.Cluster{Pods: workload.Backlog(g.members, 1)}
	for _, p := range pods.Pods {
		p.Labels[v1alpha1.LabelX] = gang
	}
	if err := pods.CreateWorkloads(ctx, g.Client); err != nil {
		return came, err
	}
	if err := g.await(ctx, server, watch); err != nil {
		return came, err
	}
	came = startOf(g.members, delay, began, watch.Tally(), way.bound())
	g.StopScheduler()
	server.Stop()
	return came, g.clear(ctx)
}

// schedule starts muster and kube-scheduler, both connected this way. The caller must stop them.
func (g *ground) schedule(ctx context.Context, way *way) (_ *muster.Server, err error) {
	server, err := muster.Start(ctx, muster.Options{
		ControlPlane: g.ControlPlane, Binary: g.binary, Selection: muster.Muster, Kubeconfig: way.kubeconfig,
		Config: map[string]any{"leaderElection": map[string]any{"leaderElect": true}},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			server.Stop()
		}
	}()
	config, err := server.SchedulerConfig(ctx)
	if err != nil {
		return nil, err
	}
	return server, g.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config, Kubeconfig: way.kubeconfig, Limited: true})
}

// await returns when the whole gang is bound, or patience has ended.
func (g *ground) await(ctx context.Context, server *muster.Server, watch *podwatch.Watch) error {
	err := g.Await(ctx, "the gang to be bound", patience, func(context.Context) (bool, error) {
		return watch.Tally().Bound >= g.members, server.Err()
	})
	return lab.Ignoring(err, func(err error) bool { return errors.Is(err, lab.ErrOverdue) })
}

func (g *ground) groups() dynamic.ResourceInterface {
	return g.Objects.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(workload.Namespace)
}

func (g *ground) createGroup(ctx context.Context) error {
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.ResourceOf(v1alpha1.GroupX).GroupVersion().String(), "kind": "PodGroup",
		"metadata": map[string]any{"name": gang}, "spec": map[string]any{"minMember": int64(g.members)},
	}}
	if _, err := g.groups().Create(ctx, group, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the PodGroup: %w", err)
	}
	return nil
}

// clear deletes the gang.
func (g *ground) clear(ctx context.Context) error {
	if err := workload.DeletePods(ctx, g.Client, v1alpha1.LabelX+"="+gang); err != nil {
		return err
	}
	if err := g.groups().Delete(ctx, gang, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the PodGroup: %w", err)
	}
	return nil
}
