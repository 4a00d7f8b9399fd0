package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	seed = 1
	// patience is how long a cell may take, beside the time for which gangs wait.
	patience = 5 * time.Minute
)

// laboratory is a control plane with nodes, on which cells run one after the other.
type laboratory struct {
	controlPlane *controlplane.ControlPlane
	programs     contender.Programs
	native       contender.NativeGangs
	client       kubernetes.Interface
	dynamic      dynamic.Interface
	nodes        []*corev1.Node
	wait         time.Duration // of gangs that cannot start
}

// newLaboratory starts a control plane, which the caller has to stop.
func newLaboratory(
	ctx context.Context, c benchCase, programs contender.Programs, wait time.Duration, out io.Writer,
) (_ *laboratory, err error) {
	release, err := binaries.Chosen()
	if err != nil {
		return nil, err
	}
	native := contender.NativeGangsOf(release)
	cp, err := controlplane.Start(ctx, controlplane.Options{
		Release: release, Controllers: controlplane.PodCreation(), APIServerFlags: native.APIServerFlags(), Progress: out,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			cp.Stop()
		}
	}()
	l := &laboratory{controlPlane: cp, programs: programs, native: native, wait: wait}
	if l.client, err = kubernetes.NewForConfig(cp.RESTConfig()); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if l.dynamic, err = dynamic.NewForConfig(cp.RESTConfig()); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := muster.CreateCRDs(ctx, l.dynamic); err != nil {
		return nil, err
	}
	nodes := workload.Generate(workload.Shape{Nodes: c.nodes, Seed: seed})
	nodes.Ready()
	if c.gangs.contended {
		level(nodes.Nodes)
	}
	l.nodes = nodes.Nodes
	return l, nodes.CreateNodes(ctx, l.client)
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
	r := &cellRun{laboratory: l, who: who, gangs: c.gangs, witness: newWitness(l.nodes, c.gangs.size)}
	watch, err := podwatch.StartFor(ctx, l.client, measured, r.witness.observe)
	if err != nil {
		return came, err
	}
	defer watch.Stop()
	if err := r.createGroups(ctx); err != nil {
		return came, err
	}
	r.entry, err = l.programs.Launch(ctx, l.controlPlane, who, 0)
	if err != nil {
		return came, err
	}
	defer r.entry.Stop()
	if err := r.entry.AwaitExtender(ctx); err != nil {
		return came, err
	}
	if err := r.entry.StartScheduler(ctx); err != nil {
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
	if err := workload.DeletePods(ctx, l.client, measured); err != nil {
		return came, err
	}
	return came, r.deleteGroups(ctx)
}

func (r *cellRun) createGroups(ctx context.Context) error {
	resource, groups := r.gangs.groups(r.who, r.native)
	for _, group := range groups {
		if _, err := r.dynamic.Resource(resource).Namespace(workload.Namespace).Create(ctx, group, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create PodGroup %s: %w", group.GetName(), err)
		}
	}
	return nil
}

func (r *cellRun) deleteGroups(ctx context.Context) error {
	resource, groups := r.gangs.groups(r.who, r.native)
	for _, group := range groups {
		if err := r.dynamic.Resource(resource).Namespace(workload.Namespace).Delete(ctx, group.GetName(), metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete PodGroup %s: %w", group.GetName(), err)
		}
	}
	return nil
}

// createPods creates all pods of the gangs and says when it began to.
func (r *cellRun) createPods(ctx context.Context) (began time.Time, err error) {
	pods := workload.Cluster{Pods: r.gangs.pods(r.who)}
	began = time.Now()
	return began, pods.CreateWorkloads(ctx, r.client)
}

// deleteGangs deletes the pods of gangs and returns when they are gone.
func (r *cellRun) deleteGangs(ctx context.Context, names ...string) error {
	return workload.DeletePods(ctx, r.client, fmt.Sprintf("%s in (%s)", gangOf, strings.Join(names, ",")))
}

// await returns when something is done, unless the control plane or muster fails.
func (r *cellRun) await(ctx context.Context, done func() bool) error {
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		select {
		case err := <-r.controlPlane.Failed():
			return false, err
		default:
		}
		if server := r.entry.Muster(); server != nil {
			if err := server.Err(); err != nil {
				return false, err
			}
		}
		return done(), nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sleep is await for a time.
func (r *cellRun) sleep(ctx context.Context, length time.Duration) error {
	until := time.Now().Add(length)
	return r.await(ctx, func() bool { return !time.Now().Before(until) })
}
