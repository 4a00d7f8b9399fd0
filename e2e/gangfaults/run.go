package gangfaults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/machines"
	"muster.dev/muster/e2e/workload"
)

const (
	// settleLimit is how long a cluster may take, when nothing goes wrong any more, until
	// every gang is whole or waits.
	settleLimit = 30 * time.Second
	// look is how often it is looked.
	look = 50 * time.Millisecond
	// mostReplaced is how many members of a gang are replaced.
	mostReplaced = 4
)

// outcome is what there is to say of a run.
type outcome struct {
	seed     uint64
	verdict  verdict
	gangs    int
	bindings int
	faults   map[fault]int
	settled  time.Duration
	log      []string // what was done, and when
	page     string   // what muster said of gangs at the end
}

// run is a run under way.
type run struct {
	lane     *lane
	script   *script
	traffic  *traffic
	record   *record
	machines *machines.Machines
	lost     chan *corev1.Pod // members that are gone
	began    time.Time

	mu   sync.Mutex
	log  []string
	done map[fault]int
}

// perform plays a script and judges what came of it. The cluster is empty before and after.
func (l *lane) perform(ctx context.Context, s *script) (*outcome, error) {
	if err := l.keepGates(ctx, s.gates); err != nil {
		return nil, err
	}
	calm, quiet := context.WithCancel(ctx)
	defer quiet()
	r := &run{
		lane: l, script: s, traffic: newTraffic(calm, s), record: newRecord(), machines: machines.New(l.client),
		lost: make(chan *corev1.Pod, 1000), began: time.Now(), done: map[fault]int{},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sources, err := l.sources(ctx)
	if err != nil {
		return nil, err
	}
	stopWatching, err := history.Follow(ctx, sources, r.observe, cancel)
	if err != nil {
		return nil, err
	}
	defer stopWatching()
	l.traffic.Store(r.traffic)

	background, stop := context.WithCancel(ctx)
	defer stop()
	others, background := errgroup.WithContext(background)
	others.Go(func() error { return r.machines.Run(background) })
	others.Go(func() error { return r.replace(background) })
	o := &outcome{seed: s.seed, gangs: len(s.gangs)}
	err = r.play(background)
	quiet()
	var because []string
	if err == nil {
		o.settled, because, err = r.settle(background)
	}
	end := time.Now()
	if len(because) > 0 {
		o.page = l.page(ctx)
	}
	stop()
	if failed := others.Wait(); failed != nil && ctx.Err() == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	if err := l.clear(ctx, r.record); err != nil {
		return nil, err
	}
	stopWatching()
	return o, r.judge(o, because, end)
}

func (r *run) observe(event watch.Event) {
	r.record.observe(event)
	r.machines.Observe(event)
	if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == watch.Deleted {
		select {
		case r.lost <- pod:
		default: // there are not so many
		}
	}
}

// note keeps what was done, for people.
func (r *run) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf("%6.3f %s", time.Since(r.began).Seconds(), what))
}

// play does what the script says and returns when all is done, and all processes run.
func (r *run) play(ctx context.Context) error {
	initial := workload.Cluster{Nodes: r.script.nodes}
	if err := initial.CreateNodes(ctx, r.lane.client); err != nil {
		return err
	}
	r.began = time.Now()
	r.note("gates are kept: " + r.script.gates)
	open, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	for _, e := range r.script.events {
		all.Go(func() error {
			pause(open, time.Until(r.began.Add(e.at)))
			r.traffic.await(open, e.moment)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.note(e.what)
			if e.fault != "" {
				r.mu.Lock()
				r.done[e.fault]++
				r.mu.Unlock()
			}
			return e.do(ctx, r)
		})
	}
	return all.Wait()
}

// replace creates new members for those that are lost, where a gang has that.
func (r *run) replace(ctx context.Context) error {
	replaced, known := map[string]int{}, map[types.UID]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case pod := <-r.lost:
			_, name, _ := v1alpha1.GroupLabel(pod.Labels)
			g := r.script.gangs[name]
			if g == nil || !g.replaced || known[pod.UID] || pod.Status.Phase == corev1.PodSucceeded || replaced[name] == mostReplaced {
				continue
			}
			known[pod.UID] = true
			successor := g.pod(g.replicas + replaced[name])
			replaced[name]++
			r.note("replace pod " + pod.Name + " by " + successor.Name)
			if err := r.createPod(ctx, successor); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// settle returns when the cluster has settled, or why it has not in time.
func (r *run) settle(ctx context.Context) (took time.Duration, because []string, err error) {
	began := time.Now()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		because = r.record.unsettled()
		for _, c := range r.traffic.history() {
			if c.ended.IsZero() {
				because = append(because, fmt.Sprintf("the bind call about pod %s lasts", c.pod))
			}
		}
		if took = time.Since(began); len(because) == 0 || took > settleLimit {
			return took, because, nil
		}
		select {
		case <-ctx.Done():
			return took, nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// judge completes the outcome of a run that is over.
func (r *run) judge(o *outcome, because []string, end time.Time) error {
	entries, err := r.record.history()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.at.After(end) }) // when all was deleted
	inOrder(entries)
	o.verdict = judgeGangs(entries, end)
	add := func(what, text string) { o.verdict.findings = append(o.verdict.findings, finding{what, text}) }
	for _, text := range because {
		add(neverSettles, text)
	}
	deadlines := map[string]time.Duration{}
	for name, g := range r.script.gangs {
		deadlines[name] = min(g.timeout, bindTimeout-bindTimeout/10)
	}
	calls := r.traffic.history()
	o.verdict.findings = append(o.verdict.findings, judgeHolds(calls, deadlines, end)...)
	o.verdict.findings = append(o.verdict.findings, judgeStarts(entries, calls, end)...)
	audit, err := r.record.bindings.Audit()
	if err != nil {
		return err
	}
	o.bindings = audit.Bindings
	for _, text := range audit.Overcommitted {
		add(overcommitted, text)
	}
	for _, text := range audit.Moved {
		add(boundTwice, text)
	}
	words, err := r.lane.words()
	if err != nil {
		return err
	}
	o.verdict.findings = append(o.verdict.findings, judgeComplaints(words, entries)...)
	o.faults = r.traffic.faults()
	for f, n := range r.done {
		o.faults[f] += n
	}
	o.log = r.log
	return nil
}
