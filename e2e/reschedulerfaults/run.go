package reschedulerfaults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/machines"
	"muster.dev/muster/e2e/workload"
)

const (
	// placedLimit is how long workloads may take to be placed before anything happens.
	placedLimit = 20 * time.Second
	// settleLimit is how long a cluster may take, when nothing goes wrong any more, until all
	// plans have ended and all pods that were evicted have a place.
	settleLimit = pendingLimit + planTTL
	// look is how often it is looked.
	look = 50 * time.Millisecond
)

// outcome is what there is to say of a run.
type outcome struct {
	seed     uint64
	findings []finding
	tally    tally
	faults   map[fault]int
	settled  time.Duration
	log      []string // what was done, and when
}

// run is a run under way.
type run struct {
	lane     *lane
	script   *script
	traffic  *traffic
	record   *record
	machines *machines.Machines
	began    time.Time

	mu   sync.Mutex
	log  []string
	done map[fault]int
}

// perform plays a script and judges what came of it. The cluster is empty before and after.
func (l *lane) perform(ctx context.Context, s *script) (*outcome, error) {
	if err := l.start(ctx, &s.settings); err != nil {
		return nil, err
	}
	defer l.stop()
	calm, quiet := context.WithCancel(ctx)
	defer quiet()
	r := &run{lane: l, script: s, traffic: newTraffic(calm, s), record: newRecord(), machines: machines.New(l.client), began: time.Now(), done: map[fault]int{}}
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
	others.Go(func() error { return l.keepUp(background) })
	o := &outcome{seed: s.seed}
	if err = r.prepare(background); err == nil {
		err = r.play(background)
	}
	quiet()
	var because []string
	if err == nil {
		o.settled, because, err = r.settle(background)
	}
	end := time.Now()
	stop()
	if failed := others.Wait(); failed != nil && ctx.Err() == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	words, err := l.words()
	if err != nil {
		return nil, err
	}
	if died := l.died(); died != nil {
		return nil, died
	}
	l.stop()
	if err := l.endAll(ctx, r); err != nil {
		return nil, err
	}
	stopWatching()
	o.findings = words
	return o, r.judge(o, because, end)
}

// endAll leaves an empty cluster.
func (l *lane) endAll(ctx context.Context, r *run) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	others, ctx := errgroup.WithContext(ctx)
	others.Go(func() error { return r.machines.Run(ctx) })
	err := l.clear(ctx, r.record)
	stop()
	if failed := others.Wait(); err == nil {
		err = failed
	}
	return err
}

func (r *run) observe(event watch.Event) {
	r.record.observe(event)
	r.machines.Observe(event)
}

// note keeps what was done, for people.
func (r *run) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf("%6.3f %s", time.Since(r.began).Seconds(), what))
}

// prepare creates nodes and workloads, and returns when these are placed as far as they fit.
func (r *run) prepare(ctx context.Context) error {
	initial := workload.Cluster{Nodes: r.script.nodes}
	if err := initial.CreateNodes(ctx, r.lane.client); err != nil {
		return err
	}
	pods := 0
	for _, w := range r.script.workloads {
		if err := r.createWorkload(ctx, w.object()); err != nil {
			return err
		}
		pods += w.count
	}
	ctx, cancel := context.WithTimeout(ctx, placedLimit)
	defer cancel()
	for {
		ready := 0
		changed := r.record.look(func(s *state) {
			for _, p := range s.pods {
				if !p.gone && isReady(p.object) {
					ready++
				}
			}
		})
		if ready >= pods {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // a run with pods that fit nowhere is one, too
		case <-changed:
		}
	}
}

// play does what the script says and returns when all is done, and all processes run.
func (r *run) play(ctx context.Context) error {
	r.began = time.Now()
	r.note(fmt.Sprintf("settings: %+v", r.script.settings))
	open, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	for _, e := range r.script.events {
		all.Go(func() error {
			pause(open, time.Until(r.began.Add(e.at)))
			r.await(open, e.moment)
			pause(open, e.after)
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

// await returns when a moment has come, or with the context.
func (r *run) await(ctx context.Context, m moment) {
	for {
		come := m == anyTime
		changed := r.record.look(func(s *state) {
			for _, p := range s.plans {
				come = come || p.ended.IsZero() && (m == planMade || m == planRuns && !p.runs.IsZero() || m == podLeaves && s.leaving(p))
			}
		})
		if come {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// settle returns when the cluster has settled, or why it has not in time.
func (r *run) settle(ctx context.Context) (took time.Duration, because []string, err error) {
	began := time.Now()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		evictions, _ := r.traffic.history()
		r.record.look(func(s *state) { because = s.unsettled(evictions, time.Now()) })
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
	entries, err := r.record.history(end)
	if err != nil {
		return err
	}
	evictions, deletions := r.traffic.history()
	story := &story{entries: entries, evictions: evictions, budgets: r.script.settings.budgets, end: end}
	for _, text := range because {
		o.findings = append(o.findings, finding{neverSettles, text})
	}
	for _, pod := range deletions {
		o.findings = append(o.findings, finding{budgetIgnored, fmt.Sprintf("pod %s is deleted, not evicted", pod)})
	}
	found, tally := story.judge()
	o.findings, o.tally = append(o.findings, found...), tally
	audit, err := r.record.bindings.Audit()
	if err != nil {
		return err
	}
	for _, text := range audit.Overcommitted {
		o.findings = append(o.findings, finding{overcommitted, text})
	}
	o.faults = r.traffic.faults()
	for f, n := range r.done {
		o.faults[f] += n
	}
	o.log = r.log
	for _, e := range entries {
		if line := e.words(); line != "" {
			o.log = append(o.log, fmt.Sprintf("%6.3f   %s", e.at.Sub(r.began).Seconds(), line))
		}
	}
	return nil
}
