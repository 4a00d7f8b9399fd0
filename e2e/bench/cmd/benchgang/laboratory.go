package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	seed = 1
	// patience is the longest time of a cell, beside the time that gangs wait.
	patience = 5 * time.Minute
)

// laboratory is a control plane with nodes, on which the cells of a case run one after the other.
type laboratory struct {
	*lab.Lab
	programs contender.Programs
	native   controlplane.NativeGangs
	wait     time.Duration // of gangs that cannot start
	scale    int           // see plan
}

// newLaboratory makes the laboratory for a case. The caller must call Close.
func (p plan) newLaboratory(ctx context.Context, c benchCase, programs contender.Programs, out io.Writer) (*laboratory, error) {
	release, err := binaries.Chosen()
	if err != nil {
		return nil, err
	}
	nodes := workload.Generate(workload.Shape{Nodes: c.nodes, Seed: seed}).Nodes
	native := controlplane.NativeGangsOf(release)
	switch {
	case c.gangs.contended:
		level(nodes)
	case c.gangs.racked:
		level(nodes)
		rack(nodes)
	case c.gangs.mixed && release == binaries.Release136:
		return nil, fmt.Errorf("the case %s has trees of groups, which Kubernetes 1.36 has not: name other cases in BENCH_CASES", caseMixed)
	case c.gangs.mixed:
		nodes, native = mixedNodes(), native.WithTrees()
	}
	l := &laboratory{programs: programs.WithTrees(c.gangs.mixed), native: native, wait: p.wait, scale: p.scale}
	l.Lab, err = lab.Start(ctx, lab.Options{
		Nodes: nodes, CRDs: true, Poll: 5 * time.Millisecond,
		ControlPlane: controlplane.Options{Release: release, APIServerFlags: l.native.APIServerFlags()},
	}, out)
	return l, err
}

// cellRun is a contender at work on a cell.
type cellRun struct {
	*laboratory
	who     contender.Contender
	gangs   gangs
	entry   *contender.Entry
	witness *witness
}

// run runs a cell and leaves nothing behind.
func (l *laboratory) run(ctx context.Context, c benchCase, who contender.Contender) (came measurement, err error) {
	limit := patience + l.wait
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave up after %s", limit))
	defer cancel()
	r := &cellRun{laboratory: l, who: who, gangs: c.gangs, witness: newWitness(l.Nodes, c.gangs.parts())}
	watch, err := podwatch.StartFor(ctx, l.Client, measured, r.witness.observe)
	if err != nil {
		return came, err
	}
	defer watch.Stop()
	if err := r.createGroups(ctx); err != nil {
		return came, err
	}
	r.entry, err = l.programs.Launch(ctx, l.ControlPlane, who, 0)
	if err != nil {
		return came, err
	}
	defer r.entry.Stop()
	if err := r.entry.Begin(ctx); err != nil {
		return came, err
	}
	if err := r.calmDown(ctx); err != nil {
		return came, err
	}
	if came, err = c.measure(ctx, r); err != nil {
		return came, fmt.Errorf("%w; %s", err, r.witness.progress())
	}
	came.partial = r.witness.partial()
	r.entry.Stop()
	if err := r.witness.verdict(); err != nil {
		return came, err
	}
	if err := workload.DeletePods(ctx, l.Client, measured); err != nil {
		return came, err
	}
	return came, r.deleteGroups(ctx)
}

func (r *cellRun) createGroups(ctx context.Context) error {
	return r.eachGroup("create", func(groups dynamic.ResourceInterface, group *unstructured.Unstructured) error {
		_, err := groups.Create(ctx, group, metav1.CreateOptions{})
		return err
	})
}

func (r *cellRun) deleteGroups(ctx context.Context) error {
	return r.eachGroup("delete", func(groups dynamic.ResourceInterface, group *unstructured.Unstructured) error {
		return groups.Delete(ctx, group.GetName(), metav1.DeleteOptions{})
	})
}

func (r *cellRun) eachGroup(what string, do func(dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	for _, group := range r.gangs.groups(r.who, r.native) {
		version, kind := group.GroupVersionKind().GroupVersion(), group.GetKind()
		resource := version.WithResource(strings.ToLower(kind) + "s")
		if err := do(r.Objects.Resource(resource).Namespace(workload.Namespace), group); err != nil {
			return fmt.Errorf("%s %s %s: %w", what, kind, group.GetName(), err)
		}
	}
	return nil
}

// createPods creates all pods of the gangs and says when it began to.
func (r *cellRun) createPods(ctx context.Context) (began time.Time, err error) {
	pods := workload.Cluster{Pods: r.gangs.pods(r.who)}
	began = time.Now()
	return began, pods.CreateWorkloads(ctx, r.Client)
}

// deleteGangs deletes the pods of gangs and returns when they are gone.
func (r *cellRun) deleteGangs(ctx context.Context, names ...string) error {
	return workload.DeletePods(ctx, r.Client, fmt.Sprintf("%s in (%s)", gangOf, strings.Join(names, ",")))
}

// await returns when something is done, unless the control plane or muster fails.
func (r *cellRun) await(ctx context.Context, done func() bool) error {
	return r.Await(ctx, "the gangs", patience+r.wait, func(context.Context) (bool, error) {
		if server := r.entry.Muster(); server != nil && server.Err() != nil {
			return false, server.Err()
		}
		return done(), nil
	})
}

// sleep is await for a time.
func (r *cellRun) sleep(ctx context.Context, length time.Duration) error {
	until := time.Now().Add(length)
	return r.await(ctx, func() bool { return !time.Now().Before(until) })
}
