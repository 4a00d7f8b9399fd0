package campaign

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/machines"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// settleTime is how long a run waits, when its script is over, for what has to come to an
// end by itself: more than a nomination may stand without a plan, and much more than the
// longest backoff of kube-scheduler, 10 s.
const settleTime = 2 * orphanLimit

// laboratory is what runs have in common.
type laboratory struct {
	controlPlane *controlplane.ControlPlane
	client       kubernetes.Interface
	binary       string // the path of muster
}

// outcome is what there is to say of a run.
type outcome struct {
	way           way
	waits         map[string]time.Duration // of the pods that were bound
	bindings      int
	overcommitted []string
	orphaned      []string      // nominations that stood without a plan for too long
	longestOrphan time.Duration // that a nomination stood without a plan
	stranded      []string      // pods that have room at the end and are not bound
	complaints    []string      // of kube-scheduler about muster's answers
	nominations   map[string]int
	written       int // nominations that the API server showed
	preempted     int
	unschedulable int
	restarts      int
	late          time.Duration // how far the machine was behind the script at most
}

// run is a run under way.
type run struct {
	laboratory
	record   *record
	orphans  *orphans
	machines *machines.Machines
	keeper   *keeper
}

// perform plays a script and judges what came of it. The cluster is empty before and
// after.
func (l laboratory) perform(ctx context.Context, s *script, way way) (o *outcome, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := run{laboratory: l, record: newRecord(), orphans: newOrphans(), machines: machines.New(l.client)}
	sources, err := history.Core(ctx, l.client)
	if err != nil {
		return nil, err
	}
	stopWatching, err := history.Follow(ctx, sources, r.observe, cancel)
	if err != nil {
		return nil, err
	}
	defer stopWatching()
	initial := workload.Cluster{Nodes: s.nodes}
	if err := initial.CreateNodes(ctx, l.client); err != nil {
		return nil, err
	}
	options := muster.Options{
		ControlPlane: l.controlPlane,
		Binary:       l.binary,
		Beside:       map[string]muster.Selection{secondScheduler: muster.Scheduler},
	}
	way.apply(&options)
	server, err := muster.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	r.keeper = newKeeper(server)
	config, err := server.SchedulerConfig(ctx)
	if err != nil {
		return nil, err
	}
	log := l.controlPlane.Log(binaries.Scheduler)
	logged := muster.LogSize(log)
	if err := l.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config}); err != nil {
		return nil, err
	}
	defer l.controlPlane.StopScheduler()

	o = &outcome{way: way}
	if err := r.play(ctx, s, o); err != nil {
		return nil, err
	}
	l.controlPlane.StopScheduler()
	if o.complaints, err = muster.Complaints(log, logged); err != nil {
		return nil, err
	}
	if err := l.clear(ctx); err != nil {
		return nil, err
	}
	stopWatching()
	return o, r.judge(o)
}

func (r *run) observe(event watch.Event) {
	r.record.observe(event)
	r.orphans.observe(event)
	r.machines.Observe(event)
}

// play plays the script and waits until the cluster has settled.
func (r *run) play(ctx context.Context, s *script, o *outcome) error {
	cluster, ctx := errgroup.WithContext(ctx)
	background, stop := context.WithCancel(ctx)
	cluster.Go(func() error { return r.machines.Run(background) })
	cluster.Go(func() error { return r.checkOrphans(background) })
	cluster.Go(func() error {
		select {
		case err := <-r.controlPlane.Failed():
			return err
		case <-background.Done():
			return nil
		}
	})
	cluster.Go(func() error {
		defer stop()
		outages := make(chan event)
		driver := driver{client: r.client, isBound: r.record.isBound, outages: outages}
		script, played := errgroup.WithContext(ctx)
		script.Go(func() error {
			defer close(outages)
			return driver.play(played, s)
		})
		script.Go(func() error { return r.keeper.keep(played, outages) })
		if err := script.Wait(); err != nil {
			return err
		}
		o.late = driver.late
		if err := r.settle(ctx, o); err != nil {
			return err
		}
		return r.keeper.count(ctx)
	})
	return cluster.Wait()
}

// checkOrphans asks muster, as long as it is there, for what it has a plan.
func (r *run) checkOrphans(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			asked, cancel := context.WithTimeout(ctx, time.Second)
			planned, _ := r.keeper.server.InFlight(asked) // who is down, or nominates nothing at all, has no plans
			cancel()
			r.orphans.check(time.Now(), planned)
		}
	}
}

// settle waits until every pod with room is bound and no nomination is left without a
// plan, or for too long.
func (r *run) settle(ctx context.Context, o *outcome) error {
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, settleTime, false, func(ctx context.Context) (_ bool, err error) {
		o.stranded, err = r.stranded(ctx)
		return len(o.stranded) == 0 && r.orphans.suspects() == 0, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil // judged as it is
	}
	return err
}

// stranded names the pending pods that would fit as the cluster is now.
func (r *run) stranded(ctx context.Context) ([]string, error) {
	nodeList, err := r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	podList, err := r.client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var nodes []*corev1.Node
	for i := range nodeList.Items {
		nodes = append(nodes, &nodeList.Items[i])
	}
	var pods []*corev1.Pod
	for i := range podList.Items {
		// What pods have to do with other pods is not looked at by fit.
		if p := &podList.Items[i]; p.Spec.NodeName != "" || p.Spec.Affinity == nil {
			pods = append(pods, p)
		}
	}
	var stranded []string
	for _, place := range fit.Places(nodes, pods) {
		stranded = append(stranded, fmt.Sprintf("pod %s of %s fits on node %s", place.Pod.Name, place.Pod.Spec.SchedulerName, place.Node))
	}
	return stranded, nil
}

// clear deletes all pods and nodes and returns when they are gone.
func (l laboratory) clear(ctx context.Context) error {
	pods, nodes := l.client.CoreV1().Pods(workload.Namespace), l.client.CoreV1().Nodes()
	now, all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := pods.DeleteCollection(ctx, now, all); err != nil {
			return false, fmt.Errorf("delete the pods: %w", err)
		}
		if err := nodes.DeleteCollection(ctx, now, all); err != nil {
			return false, fmt.Errorf("delete the nodes: %w", err)
		}
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil && len(left.Items) == 0, err
	})
}

// judge completes the outcome of a run that is over.
func (r *run) judge(o *outcome) error {
	audit, err := r.record.Audit()
	o.bindings, o.overcommitted = audit.Bindings, audit.Overcommitted
	o.waits = r.record.waits()
	o.preempted = r.record.count(func(p *past) bool { return p.preempted })
	o.unschedulable = r.record.count(func(p *past) bool { return p.unschedulable })
	o.orphaned, o.longestOrphan, o.written = r.orphans.tooLong, r.orphans.longest, r.orphans.total
	o.nominations, o.restarts = r.keeper.nominations, r.keeper.restarts
	return err
}
