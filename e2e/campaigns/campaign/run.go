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
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/history"
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
	machines *faultcampaign.Machines
	keeper   *keeper // once it was started
	logged   int64   // how long the scheduler's log was then
}

// perform plays a script and judges what came of it. The cluster is empty before and
// after.
func (l laboratory) perform(ctx context.Context, s *script, way way) (*outcome, error) {
	r := &run{laboratory: l, record: newRecord(), orphans: newOrphans(), machines: faultcampaign.NewMachines(l.client)}
	sources, err := history.Core(ctx, l.client)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	o := &outcome{way: way}
	e := faultcampaign.Episode{
		Sources: sources,
		Observe: r.observe,
		Prepare: func(ctx context.Context) error { return r.start(ctx, s, way) },
		Beside:  []func(context.Context) error{r.machines.Run, r.checkOrphans, r.fail},
		Play:    func(ctx context.Context) error { return r.play(ctx, s, o) },
		Over: func(context.Context, faultcampaign.Ending) (err error) {
			l.controlPlane.StopScheduler()
			o.complaints, err = muster.Complaints(l.controlPlane.Log(binaries.Scheduler), r.logged)
			return err
		},
		Clear: l.clear,
	}
	if _, err := e.Run(ctx); err != nil {
		return nil, err
	}
	return o, r.judge(o)
}

// start creates the nodes, and starts muster and the scheduler.
func (r *run) start(ctx context.Context, s *script, way way) error {
	initial := workload.Cluster{Nodes: s.nodes}
	if err := initial.CreateNodes(ctx, r.client); err != nil {
		return err
	}
	options := muster.Options{
		ControlPlane: r.controlPlane,
		Binary:       r.binary,
		Beside:       map[string]muster.Selection{secondScheduler: muster.Scheduler},
	}
	way.apply(&options)
	server, err := muster.Start(ctx, options)
	if err != nil {
		return err
	}
	r.keeper = newKeeper(server)
	config, err := server.SchedulerConfig(ctx)
	if err != nil {
		return err
	}
	r.logged = muster.LogSize(r.controlPlane.Log(binaries.Scheduler))
	return r.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config})
}

// stop ends what start has started.
func (r *run) stop() {
	r.controlPlane.StopScheduler()
	if r.keeper != nil {
		r.keeper.server.Stop()
	}
}

func (r *run) observe(event watch.Event) {
	r.record.observe(event)
	r.orphans.observe(event)
	r.machines.Observe(event)
}

// fail returns why the control plane ended, if it does.
func (r *run) fail(ctx context.Context) error {
	select {
	case err := <-r.controlPlane.Failed():
		return err
	case <-ctx.Done():
		return nil
	}
}

// play plays the script and waits until the cluster has settled.
func (r *run) play(ctx context.Context, s *script, o *outcome) error {
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
