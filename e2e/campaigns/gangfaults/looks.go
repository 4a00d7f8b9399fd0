package gangfaults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// lookApart is for how long it is not looked at what is booked, and askLimit how long muster may take to say it.
const lookApart, askLimit = 10 * faultcampaign.Look, 10 * time.Second

// look has what there is at a moment, as the API server tells, and what muster says of room in time.
type look struct {
	at    time.Time
	calm  bool // nothing goes wrong any more
	blind bool // muster was not there to be asked: what follows is not known
	leads bool
	pods  int           // for how many room is booked
	owner string        // the gang that it is for, "" when no gang is said to be
	in    time.Duration // until it has its room

	could   []string // gangs that have not started, and could once all other pods have ended that do
	wants   []string // gangs that muster may book room for, as far as it knows
	room    []string // of these, the gangs that have all their room now
	started int      // how many gangs have started so far
	ends    int      // of small pods so far
	binds   int      // of small pods that ask for CPU, so far
	light   []string // pods that wait and have room, and take none that a gang asks for
	short   []string // pods that wait and have room, and end before the gang with a booking has its own
}

// looks are all looks of a run. Their methods are safe for concurrent use.
type looks struct {
	*churn

	run *run

	mu     sync.Mutex
	calm   bool
	all    []look
	beside []muster.RoomInTime // of musters that stood by
	owner  string              // at the last look
}

func newLooks(r *run) *looks { return &looks{churn: newChurn(r.script.small), run: r} }

// follow looks until the context ends.
func (l *looks) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		l.look(ctx)
		faultcampaign.Pause(ctx, lookApart)
	}
	return nil
}

// look looks once.
func (l *looks) look(ctx context.Context) {
	l.mu.Lock()
	now := look{calm: l.calm}
	l.mu.Unlock()
	l.ask(ctx, &now)
	if ctx.Err() != nil {
		return
	}
	now.at = time.Now()
	now.ends, now.binds = l.counts()
	l.run.record.see(&now)
	if l.liars {
		now.short = nil // where pods tell untrue times, muster believes none
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner != now.owner && !now.blind {
		l.run.Note(fmt.Sprintf("room is booked for %q, %d pods, in %s", now.owner, now.pods, now.in.Round(time.Second)))
		l.owner = now.owner
	}
	l.all = append(l.all, now)
	if now.owner != "" {
		l.run.traffic.book(now.owner)
	}
}

// ask asks the muster that there is, unless it is down or does not answer.
func (l *looks) ask(ctx context.Context, now *look) {
	lane := l.run.lane
	if now.blind = !lane.Killing.TryLock(); now.blind {
		return
	}
	defer lane.Killing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	said, err := lane.Muster.RoomInTime(ctx)
	if now.blind = err != nil; now.blind {
		return
	}
	now.leads, now.pods = said.Leads, said.Booked()
	if now.pods == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(l.run.script.gangs)) {
		forecasts, _ := lane.Muster.When(ctx, workload.Namespace, name) // it may be gone, or muster busy
		for _, f := range forecasts {
			if f.Booked {
				now.owner, now.in = name, time.Duration(f.InSeconds*float64(time.Second))
				return
			}
		}
	}
}

// stoodBy takes in what a muster said that stood by.
func (l *looks) stoodBy(said muster.RoomInTime) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beside = append(l.beside, said)
}

// becalm notes that nothing goes wrong any more.
func (l *looks) becalm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm = true
}

// past returns the looks so far.
func (l *looks) past() []look {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// last returns when no gang waits any more that could start, or some were found to wait in vain. Small pods come no more then.
func (l *looks) last(ctx context.Context) {
	defer l.end()
	l.becalm()
	l.run.Note("nothing goes wrong any more")
	for ctx.Err() == nil && !isOver(l.past(), l.run.script) {
		faultcampaign.Pause(ctx, lookApart)
	}
	l.run.Note("no more small pods come")
}

// unsettled says that room is booked.
func (l *looks) unsettled() (because []string) {
	all := l.past()
	if len(all) == 0 || all[len(all)-1].blind || all[len(all)-1].pods == 0 {
		return nil
	}
	now := all[len(all)-1]
	return []string{fmt.Sprintf("room for %d pods is booked for %q", now.pods, now.owner)}
}

// see enters what there is into a look.
func (r *record) see(now *look) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.now
	nodes := slices.Collect(maps.Values(s.nodes))
	pods := slices.Collect(maps.Values(s.pods))
	for key, g := range s.gangs() {
		if s.once[key] {
			now.started++
			continue
		}
		if !s.mayHaveRoom(nodes, key, g) {
			continue
		}
		now.wants = append(now.wants, key.name)
		if len(g.usable()) == len(g.pending) && g.older == 0 {
			now.could = append(now.could, key.name)
		}
		if fit.Together(nodes, pods, g.pending) >= g.lacks() {
			now.room = append(now.room, key.name)
		}
	}
	now.light, now.short = nil, nil
	truly := !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return overstays(pod, now.at) })
	for _, place := range fit.Places(nodes, pods) {
		switch pod := place.Pod; {
		case !isSmall(pod):
		case isWay(pod, asksForNoCPU):
			now.light = append(now.light, pod.Name)
		case truly && now.owner != "" && isWay(pod, saysTruly) && runsFor(pod)+endsBefore < now.in:
			now.short = append(now.short, pod.Name)
		}
	}
}

// endsBefore is by how much a pod ends before a gang has its room, to be let pass in any case: muster looks at both some time apart.
const endsBefore = 4 * time.Second

// overstays reports whether a small pod runs for much longer than it should, on a machine that is too slow to end it.
func overstays(pod *corev1.Pod, now time.Time) bool {
	if !isSmall(pod) || pod.Spec.NodeName == "" || hasEnded(pod) || pod.Status.StartTime == nil {
		return false
	}
	return now.Sub(pod.Status.StartTime.Time) > runsFor(pod)*3/2+2*time.Second
}

// mayHaveRoom reports whether a gang waits, has all members that it needs, and fits into half of the cluster once all pods have ended
// that do.
func (s *state) mayHaveRoom(nodes []*corev1.Node, key groupKey, g standing) bool {
	lacks := g.lacks()
	if g.minMember == 0 || lacks == 0 || len(g.pending) < lacks {
		return false
	}
	room, staying := int64(0), []*corev1.Pod{}
	for _, node := range nodes {
		room += node.Status.Allocatable.Cpu().MilliValue()
	}
	for _, pod := range s.pods {
		if pod.Spec.NodeName != "" && (keyOf(pod) == key || runsFor(pod) == 0) {
			staying = append(staying, pod)
		}
	}
	asks := g.pending[0].Spec.Containers[0].Resources.Requests.Cpu().MilliValue() * int64(g.minMember)
	return 2*asks <= room && fit.Together(nodes, staying, g.pending) >= lacks
}
