package reschedulerfaults

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

const (
	// placedLimit is how long workloads may take to be placed before anything happens.
	placedLimit = 20 * time.Second
	// settleLimit is how long a cluster may take, when nothing goes wrong any more, until all
	// plans have ended and all pods that were evicted have a place.
	settleLimit = pendingLimit + planTTL
)

// run is a run under way.
type run struct {
	*faultcampaign.Diary

	lane     *lane
	script   *script
	traffic  *traffic
	record   *record
	machines *faultcampaign.Machines
	modes    modes
}

// Perform plays the script of a seed and judges what came of it. The cluster is empty before and
// after.
func (l *lane) Perform(ctx context.Context, seed uint64) (*faultcampaign.Outcome, error) {
	s := write(seed)
	s.settings.skew = l.program.Skew(s.settings.skew)
	if err := l.start(ctx, &s.settings); err != nil {
		return nil, err
	}
	defer l.stop()
	calm, quiet := context.WithCancel(ctx)
	defer quiet()
	r := &run{
		Diary:    faultcampaign.NewDiary(),
		lane:     l,
		script:   s,
		traffic:  newTraffic(calm, s),
		record:   newRecord(),
		machines: faultcampaign.NewMachines(l.Client),
	}
	sources, err := l.sources(ctx)
	if err != nil {
		return nil, err
	}
	l.traffic.Store(r.traffic)
	var (
		logged []finding
		page   string
	)
	e := faultcampaign.Episode{
		Sources: sources,
		Observe: r.observe,
		Beside:  []func(context.Context) error{r.machines.Run, l.keepUp, r.approve, r.measure},
		Play: func(ctx context.Context) error {
			defer quiet()
			began := time.Now()
			if err := r.prepare(ctx); err != nil {
				return err
			}
			return r.play(ctx, time.Since(began))
		},
		Unsettled: r.unsettled,
		Limit:     settleLimit + s.settings.rest() + s.settings.mostApart(),
		Over: func(ctx context.Context, _ faultcampaign.Ending) (err error) {
			page, _ = l.reschedulers[0].Page(ctx, "/debug/rescheduler") // for people
			if logged, err = l.findings(); err != nil {
				return err
			}
			err = l.Died()
			l.stop()
			return err
		},
		Clear: func(ctx context.Context, gone func() bool) error { return l.endAll(ctx, r, gone) },
	}
	ending, err := e.Run(ctx)
	if err != nil {
		return nil, err
	}
	o, err := r.judge(logged, ending.Because, ending.At)
	if err != nil {
		return nil, err
	}
	o.Page = page
	o.Longest = map[string]time.Duration{"settling": ending.Settled}
	return o, nil
}

// endAll leaves an empty cluster.
func (l *lane) endAll(ctx context.Context, r *run, gone func() bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	others, ctx := errgroup.WithContext(ctx)
	others.Go(func() error { return r.machines.Run(ctx) })
	err := l.clear(ctx, gone)
	for _, w := range r.script.workloads {
		err = cmp.Or(err, l.resize(ctx, w.name, "null"))
	}
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

// prepare creates nodes and workloads, and returns when these are placed as far as they fit.
func (r *run) prepare(ctx context.Context) error {
	initial := workload.Cluster{Nodes: r.script.nodes}
	if err := initial.CreateNodes(ctx, r.lane.Client); err != nil {
		return err
	}
	pods := 0
	for _, w := range r.script.workloads {
		if err := r.createWorkload(ctx, w); err != nil {
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
func (r *run) play(ctx context.Context, prepared time.Duration) error {
	var acts []faultcampaign.Act
	for _, e := range r.script.events {
		acts = append(acts, faultcampaign.Act{
			At: e.at, Await: func(ctx context.Context) { r.await(ctx, e.moment) }, After: e.after, What: e.what, Fault: e.fault,
			Do: func(ctx context.Context) error { return e.do(ctx, r) },
		})
	}
	whole := faultcampaign.Act{ // a run lasts as long, however soon all is done
		At: window, Await: func(context.Context) {}, What: "the end", Do: func(context.Context) error { return nil },
	}
	set := fmt.Sprintf("prepared in %s; settings: %+v", prepared.Round(time.Millisecond), r.script.settings)
	return r.Play(ctx, window, set, append(acts, whole))
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

// unsettled says what has to change yet.
func (r *run) unsettled() (because []string) {
	evictions, _ := r.traffic.history()
	r.record.look(func(s *state) {
		because = append(s.unsettled(evictions, time.Now()), s.marksLeft(time.Now().Add(-r.script.settings.mostApart()))...)
	})
	return because
}

// judge makes the outcome of a finished run with findings in logs.
func (r *run) judge(findings []finding, because []string, end time.Time) (*faultcampaign.Outcome, error) {
	entries, err := r.record.history(end)
	if err != nil {
		return nil, err
	}
	evictions, deletions := r.traffic.history()
	story := &story{entries: entries, evictions: evictions, settings: r.script.settings, pauses: r.modes.all(), end: end}
	findings = append(findings, faultcampaign.Of(faultcampaign.NeverSettles, because)...)
	for _, pod := range deletions {
		findings = append(findings, faultcampaign.Found(budgetIgnored, "pod %s is deleted, not evicted", pod))
	}
	found, tally := story.judge()
	findings = append(findings, found...)
	audit, err := r.record.bindings.Audit()
	if err != nil {
		return nil, err
	}
	findings = append(findings, faultcampaign.Of(faultcampaign.Overcommitted, audit.Overcommitted)...)
	for _, e := range entries {
		if line := e.words(); line != "" {
			r.NoteAt(e.at, "  "+line)
		}
	}
	o := &faultcampaign.Outcome{Counts: map[string]int{
		evictionsFigure: tally.evictions, movedFigure: tally.moved, placedFigure: tally.placed,
		pausesFigure: len(story.pauses), marksFigure: tally.marked, marksLeftFigure: tally.marksLeft,
		lostFigure: tally.lost,
	}}
	for phase, n := range tally.plans {
		o.Counts[plansFigure(phase)] = n
	}
	for policy, n := range tally.by {
		o.Counts[byFigure(policy)] = n
	}
	o.Find(findings)
	r.Tell(o, r.traffic.Calls)
	return o, nil
}
