package gangfaults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

const (
	// settleLimit is how long a cluster may take, when nothing goes wrong any more, until
	// every gang is whole or waits.
	settleLimit = 2 * time.Minute
	// mostReplaced is how many members of a gang are replaced.
	mostReplaced = 4
)

// run is a run under way.
type run struct {
	*faultcampaign.Diary

	lane     *lane
	script   *script
	traffic  *traffic
	record   *record
	machines *faultcampaign.Machines
	lost     chan *corev1.Pod // members that are gone
	vigil    vigil
	upsets   upsets
	lag      faultcampaign.Lag
	looks    *looks // at what is booked, nil for none
}

// Perform plays the script of a seed and judges what came of it. The cluster is empty before and
// after.
func (l *lane) Perform(ctx context.Context, seed uint64) (*faultcampaign.Outcome, error) {
	s := l.write(seed)
	s.setup.skew = l.program.Skew(s.setup.skew)
	if err := l.configure(ctx, s.setup); err != nil {
		return nil, err
	}
	calm, quiet := context.WithCancel(ctx)
	defer quiet()
	r := &run{
		Diary: faultcampaign.NewDiary(), lane: l, script: s, traffic: newTraffic(calm, s), record: newRecord(),
		machines: faultcampaign.NewMachines(l.Client), lost: make(chan *corev1.Pod, 1000),
	}
	if s.setup.booking {
		r.looks = newLooks(r)
	}
	sources, err := l.sources(ctx)
	if err != nil {
		return nil, err
	}
	l.traffic.Store(r.traffic)
	page := ""
	e := faultcampaign.Episode{
		Sources: sources,
		Observe: r.observe,
		Beside:  r.beside(),
		Play: func(ctx context.Context) error {
			if err := r.playInto(ctx, quiet); err != nil || r.looks == nil {
				return err
			}
			r.looks.last(ctx)
			return nil
		},
		Unsettled: r.unsettled,
		Limit:     settleLimit,
		Over: func(ctx context.Context, ending faultcampaign.Ending) error {
			if len(ending.Because) > 0 {
				page = l.page(ctx)
				return nil
			}
			return r.keepVigil(ctx)
		},
		Clear: l.clear,
	}
	ending, err := e.Run(ctx)
	if err != nil {
		return nil, err
	}
	end := ending.At
	if r.vigil.to.After(end) {
		end = r.vigil.to
	}
	o, err := r.judge(ending.Because, end)
	if err != nil {
		return nil, err
	}
	o.Longest["settling"], o.Longest["lag_of_the_machine"], o.Page = ending.Settled, r.lag.Allowance(), page
	return o, nil
}

// beside returns what goes on beside the script.
func (r *run) beside() []func(context.Context) error {
	all := []func(context.Context) error{
		r.machines.Run, r.replace, func(ctx context.Context) error { return r.lag.Measure(ctx, r.lane.Client) },
	}
	if r.looks != nil {
		all = append(all, r.looks.follow, func(ctx context.Context) error { return r.looks.churn.run(ctx, r.lane.CreatePod) })
	}
	return all
}

// playInto plays the script, and is quiet then: nothing goes wrong any more.
func (r *run) playInto(ctx context.Context, quiet func()) error {
	defer r.upsets.calm()
	defer quiet()
	return r.play(ctx)
}

func (r *run) observe(event watch.Event) {
	r.record.observe(event)
	r.machines.Observe(event)
	if r.looks != nil {
		r.looks.observe(event)
	}
	if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == watch.Deleted {
		select {
		case r.lost <- pod:
		default: // there are fewer
		}
	}
}

// play does what the script says and returns when all is done, and all processes run.
func (r *run) play(ctx context.Context) error {
	if r.script.setup.devices {
		if err := r.lane.createSlices(ctx, r.script.nodes); err != nil {
			return err
		}
	}
	initial := workload.Cluster{Nodes: r.script.nodes}
	if err := initial.CreateNodes(ctx, r.lane.Client); err != nil {
		return err
	}
	var acts []faultcampaign.Act
	for _, e := range r.script.events {
		acts = append(acts, faultcampaign.Act{
			At: e.at, Await: func(ctx context.Context) { r.traffic.await(ctx, e.moment) }, What: e.what, Fault: e.fault,
			Do: func(ctx context.Context) error {
				defer r.upsets.begin(e.fault)()
				return e.do(ctx, r)
			},
		})
	}
	return r.Play(ctx, r.script.length(), r.script.setup.String(), acts)
}

// replace creates new members for lost ones, where a gang has that.
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
			r.Note("replace pod " + pod.Name + " by " + successor.Name)
			if err := r.lane.CreatePod(ctx, successor); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// unsettled says what has to change yet.
func (r *run) unsettled() []string {
	because := r.record.unsettled()
	if r.looks != nil {
		because = append(because, r.looks.unsettled()...)
	}
	for _, c := range r.traffic.history() {
		if c.ended.IsZero() {
			because = append(because, fmt.Sprintf("the bind call about pod %s lasts", c.pod))
		}
	}
	return because
}

// judge makes the outcome of a run that is over.
func (r *run) judge(because []string, end time.Time) (*faultcampaign.Outcome, error) {
	entries, err := r.record.history()
	if err != nil {
		return nil, err
	}
	r.script.behind += r.lag.Allowance()
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.at.After(end) }) // when all was deleted
	inOrder(entries)
	v := judgeGangs(entries, end)
	findings := v.findings
	findings = append(findings, faultcampaign.Of(faultcampaign.NeverSettles, because)...)
	calls := r.traffic.history()
	own := map[string]int{}
	if r.script.setup.ahead() {
		let := judgeLetGo(entries, r.script.behind)
		findings = append(findings, let.findings...)
		own[reservedFigure], own[uncontestedFigure] = let.reserved, let.uncontested
	}
	if r.script.setup.plain > 0 {
		r.countGaps(entries, end)
	} else {
		findings = append(findings, r.judgeCalls(entries, calls, end)...)
	}
	evicted := judgeVictims(entries, calls, end, r.script.behind, r.upsets.during(r.script.trouble, end))
	findings = append(findings, evicted.findings...)
	audit, err := r.record.bindings.Audit()
	if err != nil {
		return nil, err
	}
	findings = append(findings, faultcampaign.Of(faultcampaign.Overcommitted, audit.Overcommitted)...)
	findings = append(findings, faultcampaign.Of(faultcampaign.BoundTwice, audit.Moved)...)
	logged, err := r.lane.findings()
	if err != nil {
		return nil, err
	}
	findings = append(findings, faultcampaign.JudgeComplaints(logged, func(uid types.UID) (bound, gone time.Time) {
		return lifeOf(uid, entries)
	})...)
	o := &faultcampaign.Outcome{
		Counts: map[string]int{
			gangsFigure:    len(r.script.gangs),
			wholeFigure:    v.started,
			repairedFigure: v.repaired,
			gatedFigure:    v.gated,
			bindingsFigure: audit.Bindings,
			evictedFigure:  evicted.evicted,
			vainFigure:     evicted.vain,
			vigilsFigure:   len(r.vigil.writes),
			treesFigure:    countTrees(r.script.gangs),
		},
		Longest: map[string]time.Duration{"partial": v.longest},
	}
	if r.script.setup.devices {
		held := judgeDevices(entries)
		findings = append(findings, held.findings...)
		r.lane.left.Add(int64(held.left))
		own[deviceGangsFigure], own[allocationsFigure], own[takenBackFigure] = held.whole, held.allocations, held.takenBack
	}
	if r.script.setup.topology {
		near := judgeNear(entries, r.script.gangs)
		findings = append(findings, near.findings...)
		own[nearFigure], own[repairedInside] = near.near, near.inside
	}
	if r.script.setup.booking {
		found, counts := r.lane.books.judge(r.looks, entries, r.script, r.lag.Allowance())
		findings = append(findings, found...)
		maps.Copy(own, counts)
	}
	maps.Copy(o.Counts, own)
	for name, held := range r.vigil.held {
		o.Longest["hopeless_held"] = max(o.Longest["hopeless_held"], held)
		o.Longest["hopeless_writes_of_a_member"] = max(
			o.Longest["hopeless_writes_of_a_member"],
			time.Duration(r.vigil.writes[name])*time.Second/time.Duration(r.script.gangs[name].replicas),
		)
	}
	o.Find(findings)
	r.Tell(o, r.traffic.Calls)
	return o, nil
}

// judgeCalls judges how bind calls were answered, and what muster did for gangs that the scheduler refuses.
func (r *run) judgeCalls(entries []entry, calls []call, end time.Time) []finding {
	deadlines := map[string]time.Duration{}
	for name, g := range r.script.gangs {
		deadlines[name] = min(g.timeout, bindTimeout-bindTimeout/10) + r.script.behind
	}
	findings := slices.Concat(judgeHolds(calls, deadlines, end), r.vigil.judge(r.script.gangs))
	if !r.script.setup.ahead() {
		findings = append(findings, judgeStarts(entries, calls, end, r.script.behind)...)
	}
	return findings
}
