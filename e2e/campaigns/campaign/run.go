package campaign

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

const (
	// settleTime is how long a run waits, when its script is over, for what has to come to an
	// end by itself: more than a nomination may stand without a plan, and much more than the
	// longest backoff of kube-scheduler, 10 s.
	settleTime = 2 * orphanLimit
	// patience is how long a question to muster may take, far longer than it does.
	patience = 10 * time.Second
)

// musterKilledFault is the one that the scripts have.
const musterKilledFault faultcampaign.Fault = "muster killed"

// run is a run under way.
type run struct {
	*faultcampaign.Diary

	lane     *lane
	script   *script
	record   *record
	orphans  *orphans
	machines *faultcampaign.Machines

	nominations map[string]int // by outcome, over all lives of muster
	restarts    int
	stranded    []string
}

// Perform plays the script of a seed and judges what came of it. The cluster is empty before and after.
func (l *lane) Perform(ctx context.Context, seed uint64) (*faultcampaign.Outcome, error) {
	r := &run{
		Diary: faultcampaign.NewDiary(), lane: l, script: write(seed, l.nodes, l.length), record: newRecord(), orphans: newOrphans(),
		machines: faultcampaign.NewMachines(l.Client), nominations: map[string]int{},
	}
	sources, err := history.Core(ctx, l.Client)
	if err != nil {
		return nil, err
	}
	defer l.stop()
	var logged []faultcampaign.Finding
	e := faultcampaign.Episode{
		Sources: sources,
		Observe: r.observe,
		Prepare: func(ctx context.Context) error { return r.start(ctx, wayOf(seed)) },
		Beside:  []func(context.Context) error{r.machines.Run, r.checkOrphans},
		Play:    r.play,
		Over: func(context.Context, faultcampaign.Ending) (err error) {
			l.ControlPlane.StopScheduler()
			logged, err = l.Logged()
			return err
		},
		Clear: func(ctx context.Context, gone func() bool) error { return l.Clear(ctx, gone) },
	}
	if _, err := e.Run(ctx); err != nil {
		return nil, err
	}
	return r.judge(logged)
}

// start creates the nodes, and starts muster and the scheduler.
func (r *run) start(ctx context.Context, way way) error {
	initial := workload.Cluster{Nodes: r.script.nodes}
	if err := initial.CreateNodes(ctx, r.lane.Client); err != nil {
		return err
	}
	options := muster.Options{
		ControlPlane: r.lane.ControlPlane, Binary: r.lane.program.Path,
		Beside: map[string]muster.Selection{secondScheduler: muster.Scheduler},
	}
	way.apply(&options)
	r.Note(string(way))
	if err := r.lane.StartMuster(ctx, options); err != nil {
		return err
	}
	config, err := r.lane.Muster.SchedulerConfig(ctx)
	if err != nil {
		return err
	}
	return r.lane.ControlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config})
}

func (r *run) observe(event watch.Event) {
	r.record.observe(event)
	r.orphans.observe(event)
	r.machines.Observe(event)
}

// play plays the script and waits until the cluster has settled.
func (r *run) play(ctx context.Context) error {
	driver := driver{client: r.lane.Client, isBound: r.record.isBound, outage: r.killMuster}
	if err := driver.play(ctx, r.script); err != nil {
		return err
	}
	r.Note("no more faults")
	if err := r.settle(ctx); err != nil {
		return err
	}
	return r.count(ctx)
}

// killMuster kills muster and starts it again. One event of the script does so at a time.
func (r *run) killMuster(ctx context.Context, down time.Duration) error {
	if err := r.count(ctx); err != nil {
		return err
	}
	r.Note(fmt.Sprintf("kill muster, for %s", down))
	r.restarts++
	return r.lane.KillMuster(ctx, down)
}

// count adds up the nominations of a life of muster that is about to end.
func (r *run) count(ctx context.Context) error {
	if err := r.lane.Died(); err != nil {
		return err
	}
	nominations, err := r.lane.Muster.Nominations(ctx)
	for outcome, n := range nominations {
		r.nominations[strings.ToLower(outcome)] += n
	}
	return err
}

// checkOrphans asks muster for what it has a plan. While it does not answer nobody can tell.
func (r *run) checkOrphans(ctx context.Context) error {
	for ; ctx.Err() == nil; faultcampaign.Pause(ctx, 250*time.Millisecond) {
		asked, cancel := context.WithTimeout(ctx, patience)
		planned, err := r.lane.Muster.InFlight(asked)
		cancel()
		if err != nil {
			r.orphans.excuse()
			continue
		}
		r.orphans.check(time.Now(), planned)
	}
	return nil
}

// settle waits until every pod with room is bound and no nomination is left without a
// plan, or for too long.
func (r *run) settle(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, settleTime, false, func(ctx context.Context) (_ bool, err error) {
		r.stranded, err = r.fitting(ctx)
		return len(r.stranded) == 0 && r.orphans.suspects() == 0, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil // judged as it is
	}
	return err
}

// fitting names the pending pods that would fit as the cluster is now.
func (r *run) fitting(ctx context.Context) (stranded []string, err error) {
	nodeList, err := r.lane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	podList, err := r.lane.Client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{})
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
	for _, place := range fit.Places(nodes, pods) {
		stranded = append(stranded, fmt.Sprintf("pod %s of %s fits on node %s", place.Pod.Name, place.Pod.Spec.SchedulerName, place.Node))
	}
	return stranded, nil
}

// judge makes the outcome of a finished run with findings in logs.
func (r *run) judge(logged []faultcampaign.Finding) (*faultcampaign.Outcome, error) {
	audit, err := r.record.Audit()
	if err != nil {
		return nil, err
	}
	for _, text := range r.stranded {
		r.Note("at the end " + text)
	}
	o := &faultcampaign.Outcome{
		Counts: map[string]int{
			bindingsFigure:      audit.Bindings,
			writtenFigure:       r.orphans.total,
			preemptedFigure:     r.record.count(func(p *past) bool { return p.preempted }),
			unschedulableFigure: r.record.count(func(p *past) bool { return p.unschedulable }),
			restartsFigure:      r.restarts,
			strandedFigure:      len(r.stranded),
		},
		Longest: map[string]time.Duration{"orphaned": r.orphans.longest},
	}
	for _, outcome := range outcomes() {
		o.Counts[outcomeFigure(outcome)] = r.nominations[outcome]
	}
	o.Find(faultcampaign.Of(faultcampaign.Overcommitted, audit.Overcommitted))
	o.Find(faultcampaign.Of("a nomination stands without a plan", r.orphans.tooLong))
	o.Find(faultcampaign.JudgeComplaints(logged, r.record.life))
	r.Tell(o, faultcampaign.NewCalls(context.Background(), faultcampaign.Trouble{}))
	maps.Copy(o.Faults, map[faultcampaign.Fault]int{musterKilledFault: r.restarts})
	return o, nil
}
