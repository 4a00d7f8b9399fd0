package gangfaults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// Situations in which gangs find themselves, without anything going wrong.

// addBundle has two or three gangs come that start together. Their pods are alike, so that whether there is
// room for all does not depend on who goes where.
func (w *writer) addBundle() {
	first := w.drawGang("")
	parts := []*gang{first}
	for range 1 + w.rand.IntN(2) {
		other := w.drawGang("")
		other.label, other.milliCPU, other.priority, other.match = first.label, first.milliCPU, first.priority, first.match
		if first.podGroup() == nil {
			other.timeout, other.asks = gangTimeout, 0
		}
		parts = append(parts, other)
	}
	var names []string
	for _, g := range parts {
		names = append(names, g.name)
	}
	begin := len(w.events)
	for _, g := range parts {
		g.minMember, g.with = min(g.minMember, 3), names
		g.replicas = g.minMember + w.rand.IntN(2)
		w.addEvents(g)
	}
	w.events[begin].fault = bundle
}

// addRefused adds a gang with members that the scheduler refuses by itself, mostly too many: with a high
// priority it would keep room from all others, if it was let.
func (w *writer) addRefused() {
	if w.refusing {
		return
	}
	w.refusing = true
	g := w.drawGang([]string{raised, urgent}[w.rand.IntN(2)])
	g.timeout, g.replaced, g.asks, g.match = refusedTimeout, false, 0, ""
	if g.label == v1alpha1.LabelMuster {
		g.label = v1alpha1.LabelX
	}
	spare := g.replicas - g.minMember
	count := 1
	if w.rand.IntN(4) > 0 {
		count = spare + 1 + w.rand.IntN(g.minMember)
	}
	from := w.rand.IntN(g.replicas)
	for i := range min(count, g.replicas) {
		g.refused = append(g.refused, (from+i)%g.replicas)
	}
	begin := len(w.events)
	w.addEvents(g)
	w.events[begin].fault = membersRefused
}

// refusedTimeout is the time of gangs with members that the scheduler refuses: short, so that a run sees several
// tries of theirs.
const refusedTimeout = 2 * time.Second

// liveAgain has all members of a gang finish, and its PodGroup deleted and created again. Then others come, and
// members of the former life do not count for them.
func (w *writer) liveAgain() {
	g := w.someGang()
	object := g.podGroup()
	if object == nil || g.finishing > 0 || len(g.refused) > 0 || len(g.with) > 0 || g.former {
		return
	}
	w.finish(g, g.replicas)
	g.former = true
	after := w.within(window / 4)
	again := g.minMember - w.rand.IntN(2)
	w.add(event{
		0,
		w.begun(g),
		"let members of " + g.name + " finish, for a former life", formerLife,
		func(ctx context.Context, r *run) error {
			r.awaitFinished(ctx, g)
			if err := r.deletePodGroup(ctx, object); err != nil {
				return err
			}
			faultcampaign.Pause(ctx, time.Second+after) // the API server counts creations in seconds
			r.Note(fmt.Sprintf("create PodGroup %s again, and %d members", g.name, again))
			if err := r.createPodGroup(ctx, object); err != nil {
				return err
			}
			for i := range again {
				if err := r.lane.CreatePod(ctx, g.pod(laterLife+i)); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

const (
	// laterLife is the first number of members of a later life.
	laterLife = 100
	// finishLimit is how long members may take to finish.
	finishLimit = 4 * time.Second
)

// awaitFinished returns when all members of a gang that are there have finished, or some have taken too long.
func (r *run) awaitFinished(ctx context.Context, g *gang) {
	ctx, cancel := context.WithTimeout(ctx, finishLimit)
	defer cancel()
	for ctx.Err() == nil && !r.record.finished(g) {
		faultcampaign.Pause(ctx, faultcampaign.Look)
	}
}

// finished says that all members of a gang that are there have succeeded.
func (r *record) finished(g *gang) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pod := range r.now.pods {
		if keyOf(pod).name == g.name && pod.Status.Phase != corev1.PodSucceeded {
			return false
		}
	}
	return true
}

// What happens beside plain schedulers alone.
const (
	rivalPods   faultcampaign.Fault = "pods of the same priority race for the room"
	urgentPods  faultcampaign.Fault = "pods of higher priority race for the room"
	mostRivals                      = 4
	rivalsApart                     = 40 * time.Millisecond
)

// aheadSetupOf returns the setup of a seed beside plain schedulers: the setups take turns.
func aheadSetupOf(seed uint64) setup {
	s := []setup{
		{plain: 1}, {plain: 2}, {plain: 1, elects: true}, {plain: 2},
	}[seed/seedsPerSetup%4]
	s.gates = muster.UntilPlace
	s.skew = skewOf(seed)
	return s
}

// writeAhead draws the script of a seed for plain schedulers.
func writeAhead(seed uint64) *script { return draw(seed, aheadSetupOf(seed), (*writer).addAheadFaults) }

// addAheadFaults draws from three to eight, by their weights. Where the scheduler makes no calls, nothing happens
// to them; and no member is refused that muster knows of nothing against.
func (w *writer) addAheadFaults() {
	var all faultcampaign.Urn
	all.Add(8, w.killScheduler)
	all.Add(4, w.killMuster)
	all.Add(6, w.killMusterAtCommit)
	all.Add(2, w.killBoth)
	all.Add(10, w.deleteMember)
	all.Add(6, w.editMinMember)
	all.Add(4, w.deletePodGroup)
	all.Add(4, w.delayPodGroup)
	all.Add(10, w.loseNode)
	all.Add(6, w.cordonNode)
	all.Add(4, func() { w.addPod(urgent, urgentPod) })
	all.Add(6, w.addCompetitor)
	all.Add(6, w.addPreemptor)
	all.Add(4, w.finishMembers)
	all.Add(4, w.addBundle)
	all.Add(3, w.liveAgain)
	all.Add(16, func() { w.addRivals("", rivalPods) })
	all.Add(8, func() { w.addRivals(urgent, urgentPods) })
	w.addDelays(&all)
	w.trouble.AddAPIFaults(&all, w.rand, []faultcampaign.Verb{nomination, nomination, gateLift, gateLift, podChange, groupState, startOf}, 0.4)
	for range 3 + w.rand.IntN(6) {
		all.Draw(w.rand)
	}
}

// midway draws a moment at which muster has reserved some places of a gang, or has let some members go.
func (w *writer) midway(g *gang) moment {
	some := 1 + w.rand.IntN(g.minMember)
	if w.rand.IntN(2) == 0 {
		return moment{gang: g.name, nominated: some}
	}
	return moment{gang: g.name, lifted: some}
}

// begun is when muster has begun to let a gang go.
func (w *writer) begun(g *gang) moment {
	if w.setup.ahead() {
		return moment{gang: g.name, lifted: 1}
	}
	return moment{gang: g.name, committed: true}
}

// addRivals has pods come that fit where members of a gang do, one after the other: of the priority of the gang, or
// of a class.
func (w *writer) addRivals(class string, of faultcampaign.Fault) {
	g := w.someGang()
	if class == "" {
		class = g.priority
	}
	at, moment := w.someTime(g)
	count := 1 + w.rand.IntN(mostRivals)
	first, milliCPU := w.pods, g.milliCPU-500*int64(w.rand.IntN(2))
	w.pods += count
	w.add(event{at, moment, fmt.Sprintf("create %d pods that race with %s", count, g.name), of, func(ctx context.Context, r *run) error {
		for i := range count {
			pod := workload.NewPod(
				fmt.Sprintf("s%d-single-%d", r.script.seed, first+i),
				workload.Milli(max(milliCPU, 500)),
				workload.OfPriority(class),
			)
			if err := r.lane.CreatePod(ctx, pod); err != nil {
				return err
			}
			faultcampaign.Pause(ctx, rivalsApart)
		}
		return nil
	}})
}

// upsets are when processes were disturbed: what muster had decided by then may have come to nothing, or is
// forgotten. Its methods are safe for concurrent use.
type upsets struct {
	mu    sync.Mutex
	at    []time.Time
	spans []span
}

// span is some time. It lasts while its end is zero.
type span struct{ from, to time.Time }

// begin notes that a fault begins, if it is such a one, and end that it is over.
func (u *upsets) begin(f faultcampaign.Fault) (end func()) {
	switch f {
	case schedulerKilled, musterKilled, musterKilledAt, musterFrozen, overtaken, watchHeldBack, apiServerSlow:
	default:
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.at = append(u.at, now)
	u.spans = append(u.spans, span{from: now})
	this := len(u.spans) - 1
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		now := time.Now()
		u.at = append(u.at, now)
		if f != apiServerSlow { // that lasts until all is calm
			u.spans[this].to = now
		}
	}
}

// calm ends what lasts.
func (u *upsets) calm() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.spans {
		if u.spans[i].to.IsZero() {
			u.spans[i].to = time.Now()
		}
	}
}

// touch says that a process was disturbed some time in a span.
func (u *upsets) touch(s span) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.spans, func(o span) bool { return !o.from.After(s.to) && (o.to.IsZero() || !o.to.Before(s.from)) })
}

// during returns when something was upset in a run. Its end is among these if calls could be spoiled at any time.
func (u *upsets) during(t faultcampaign.Trouble, end time.Time) []time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := slices.Clone(u.at)
	if len(t.Odds) > 0 {
		at = append(at, end)
	}
	for _, kept := range t.First {
		if kept.Fault == callTooLate {
			at = append(at, end)
		}
	}
	return at
}
