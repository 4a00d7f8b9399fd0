package core

import (
	"maps"
	"slices"
	"time"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
)

// gate is the state of a scheduling gate that the watch shows on a pod.
type gate int

const (
	shut    gate = iota
	lifting      // a write is on its way
	lifted       // as the API server said
)

const (
	// LiftRetry is how long a gate is left after it could not be lifted.
	LiftRetry = time.Second
	// mostLiftRetry is how long it is left where it was refused again and again. That doubles each time.
	mostLiftRetry = 30 * time.Second
)

// gated reports whether the scheduler does not look at the pod until muster lifts its gate.
func (p *member) gated() bool { return p.gate != lifted && membership.Gated(p.pod.Pod) }

// canLift reports whether a pod has a gate about which nothing is being done.
func (p *member) canLift(now time.Time) bool {
	return p.gated() && p.gate == shut && p.pod.DeletionTimestamp == nil && !now.Before(p.liftAgain)
}

// stray notes a pod that is of no group and has the gate all the same: its labels changed, or
// somebody wrote the gate by hand.
func (t *turn) stray(pod *cluster.Pod) {
	switch known := t.strays[pod.UID]; {
	case t.groupOf[pod.UID] != nil || !membership.Gated(pod.Pod):
		delete(t.strays, pod.UID)
	case known == nil:
		t.strays[pod.UID] = &member{pod: pod}
	default:
		known.pod = pod
	}
}

func (StrayGatesDue) apply(t *turn) {
	for _, uid := range slices.Sorted(maps.Keys(t.strays)) {
		if p := t.strays[uid]; p.canLift(t.now) {
			gating{t}.lift(p)
		}
	}
}

func (e GatesDue) apply(t *turn) {
	g := t.groups[e.Group]
	if g == nil || g.counts[pending]+g.counts[placed]+g.counts[reserved]+g.counts[due] == 0 {
		return
	}
	leading{t}.disown(g)
	gated := g.those(func(p *member) bool { return p.canLift(t.now) })
	if len(gated) == 0 {
		return
	}
	mayGo := gating{t}.mayGo(g)
	for _, p := range gated {
		if t.view.Profile(p.pod.Spec.SchedulerName) == nil || mayGo(p) { // else its scheduler is to decide
			gating{t}.lift(p)
		}
	}
}

// lift has the gate of a pod lifted.
func (t gating) lift(p *member) {
	p.gate = lifting
	t.has(LiftGate{p.pod.UID})
}

// gating decides about gates during the application of an event.
type gating struct{ *turn }

// waitsForMembers reports whether the members of a group are gated until all exist that must start together.
func (g *group) waitsForMembers(view View) bool {
	store := view.Profile(g.schedulerName)
	return store != nil && store.Profile.Gates == config.GatesUntilMembers
}

// mayGo selects the members of a group whose gates have no reason any more.
func (t gating) mayGo(g *group) func(*member) bool {
	if g.leads(t.view) {
		return leading(t).mayGo(g)
	}
	if !g.waitsForMembers(t.view) {
		return everyone
	}
	parts, not := t.bundle(g)
	switch {
	case not != nil:
		return func(*member) bool { return false }
	case startedAll(parts), !slices.ContainsFunc(parts, part.lacksMembers):
		return (*member).ready
	default:
		return func(p *member) bool { return p.stage == placed }
	}
}

// Writes may be late: they come one after the other, and rest while the API server is busy. A gate stays on if
// the reason to lift it is gone by then.
func (e Lifting) apply(t *turn) {
	p := t.known(e.UID)
	switch {
	case p == nil:
	case !p.gated():
		p.gate = lifted
	case !(gating{t}).goes(p):
		p.gate = shut
		leading{t}.staysGated(p)
	default:
		t.has(Write{Pod: p.pod})
	}
}

// goes reports whether a pod whose gate is about to be lifted is to go still.
func (t gating) goes(p *member) bool {
	g := t.groupOf[p.pod.UID]
	switch {
	case g == nil || !g.leads(t.view) || t.view.Profile(p.pod.Spec.SchedulerName) == nil:
		return true
	case p.stage == due:
		return p.hasItsRoom() && (p.room != record.RoomUncontested || t.now.Before(p.since.Add(stale)))
	default:
		return t.mayGo(g)(p)
	}
}

func (e GateLifted) apply(t *turn) {
	p := t.known(e.UID)
	switch {
	case p == nil:
	case e.Err == nil:
		p.gate = lifted
	default:
		p.gate = shut
		if p.liftRest = min(2*p.liftRest, mostLiftRetry); !e.Refused || p.liftRest == 0 {
			p.liftRest = LiftRetry
		}
		p.liftAgain = t.now.Add(p.liftRest)
		leading{t}.staysGated(p)
	}
}
