// Package demo shows muster at work: a real control plane, a stock scheduler with muster
// registered as its extender, a cluster of KWOK nodes, and some thousand pods that get
// their places while one looks on.
package demo

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/settle"
	"muster.dev/muster/e2e/workload"
)

// patiencePerPod: even a small, busy machine creates, binds and runs 20 pods a second.
const patiencePerPod = 50 * time.Millisecond

// Run shows the demo on out and returns how many pods fit and were not bound. When ctx
// ends it stops everything and returns an error, unless the show was over and only kept.
func Run(ctx context.Context, o Options, out io.Writer) (unbound int, err error) {
	cluster, err := o.cluster()
	if err != nil {
		return 0, err
	}
	stage, err := raise(ctx, o, out)
	if err != nil {
		return 0, err
	}
	defer stage.fall()
	watched, release := stage.watchOver(ctx)
	defer release()

	outcome, err := stage.play(watched, cluster, out)
	if err != nil {
		return 0, err
	}
	latencies, err := stage.muster.VerbLatencies(watched)
	if err != nil {
		return 0, err
	}
	report{outcome: outcome, expected: cluster.PodCount(), latencies: latencies}.print(out)
	stage.printWhereToLook(out, o.Keep)
	fmt.Fprintf(out, "figure demo_unbound=%d\n", len(outcome.Stranded))
	if !o.Began.IsZero() {
		fmt.Fprintf(out, "figure demo_cold_minutes=%.1f\n", time.Since(o.Began).Minutes())
	}
	if o.Keep {
		fmt.Fprintln(out, "\nEverything keeps running; Ctrl-C stops it.")
		<-watched.Done()
		if ctx.Err() == nil {
			err = context.Cause(watched)
		}
	}
	return len(outcome.Stranded), err
}

// stage is where the demo plays.
type stage struct {
	controlPlane *controlplane.ControlPlane
	muster       *muster.Server
	client       kubernetes.Interface
}

// raise starts everything. What was started before a failure is stopped.
func raise(ctx context.Context, o Options, out io.Writer) (_ *stage, err error) {
	fmt.Fprintln(out, "== Starting a control plane, a stock scheduler and muster")
	s := &stage{}
	defer func() {
		if err != nil {
			s.fall()
		}
	}()
	if s.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Programs: []binaries.Binary{binaries.KWOK, binaries.Scheduler}, Progress: out,
	}); err != nil {
		return nil, err
	}
	if s.client, err = kubernetes.NewForConfig(s.controlPlane.RESTConfig()); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if err := s.controlPlane.StartKWOK(ctx); err != nil {
		return nil, err
	}
	s.muster, err = muster.Start(ctx, muster.Options{ControlPlane: s.controlPlane, Selection: o.Selection, Progress: out})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "muster is ready (nodeSelection: %s)\n", o.Selection)
	config, err := s.muster.SchedulerConfig(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config})
}

func (s *stage) fall() {
	if s.muster != nil {
		s.muster.Stop()
	}
	if s.controlPlane != nil {
		s.controlPlane.Stop()
	}
}

// watchOver ends the returned context when a process ends by itself.
func (s *stage) watchOver(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case err := <-s.controlPlane.Failed():
			cancel(err)
		case <-s.muster.Done():
			cancel(s.muster.Err())
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(nil); watcher.Wait() }
}

// play creates the cluster and waits until its pods have their places.
func (s *stage) play(ctx context.Context, cluster *workload.Cluster, out io.Writer) (*settle.Outcome, error) {
	watch, err := podwatch.Start(ctx, s.client)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	fmt.Fprintf(out, "\n== Scheduling %d pods (%s) on %d nodes\n", cluster.PodCount(), cluster, len(cluster.Nodes))
	if err := cluster.CreateNodes(ctx, s.client); err != nil {
		return nil, err
	}
	if err := workload.AwaitReady(ctx, s.client, len(cluster.Nodes)); err != nil {
		return nil, err
	}
	patience := settle.DefaultPatience()
	patience.Total += time.Duration(cluster.PodCount()) * patiencePerPod
	var outcome *settle.Outcome
	group, ctx := errgroup.WithContext(ctx)
	// Nobody else would create the pods of Deployments and Jobs: kube-controller-manager takes minutes to compile.
	group.Go(func() error { return cluster.AsPods().CreateWorkloads(ctx, s.client) })
	group.Go(func() (err error) {
		outcome, err = settle.Await(ctx, s.client, watch, cluster.PodCount(), patience, podwatch.Printer(out, cluster.PodCount()))
		return err
	})
	err = group.Wait()
	return outcome, err
}
