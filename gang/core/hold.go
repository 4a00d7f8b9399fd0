package core

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/gang/status"
)

// A member of a gang that has started goes at once. Another one waits until enough members to start together
// have come or are bound, unless the scheduler starts the group itself.
func (e Binds) apply(t *turn) {
	p := t.member(e.UID)
	switch {
	case p == nil, p.stage >= binding:
		return // once more: the API server knows
	case p.stage == held && p.place == e.Node:
		t.has(BeginHold{p.hold})
		return
	case p.stage == held:
		t.has(RefuseBind{fmt.Errorf("gang: the pod is held for node %s already", p.place)})
		return
	case !p.ready():
		t.refuseBind(p, ErrGone)
		return
	case p.stage == due:
		t.enter(p, binding)
		p.place = e.Node
		return
	}
	g := t.groupOf[e.UID]
	parts, not := t.bundle(g)
	if not != nil {
		t.refuseBind(p, ErrNoGroup)
		return
	}
	t.recall(parts)
	if parts[0].goesAtOnce(p) {
		t.enter(p, binding)
		p.place = e.Node
		g.tries.spoke = true
		return
	}
	if p.stage == pending && !startedAll(parts) { // its plan has ended since the filter call
		t.refuseBind(p, ErrRefused)
		return
	}
	if !g.holds() {
		g.planned = t.now // it follows members that have started
	}
	t.enter(p, held)
	g.tries.spoke = true
	g.tries.unbound.Delete(e.UID)
	t.lastHold++
	p.behind = false
	p.place, p.hold, p.until = e.Node, t.lastHold, t.now.Add(t.limits.Hold)
	if p.until.Before(g.firstEnd) {
		g.firstEnd = p.until
	}
	t.has(BeginHold{p.hold})
	if !anyReserved(parts) {
		t.commit(parts)
	}
	t.endIfStopped(g)
}

// refuseBind fails the bind call about a member, which counts on its place no more: also where the call itself
// had it count there.
func (t *turn) refuseBind(p *member, why error) {
	if p.stage == pending {
		t.ports.Release(p.pod.UID)
	}
	t.giveUp(p, why)
	t.has(RefuseBind{why})
}

// Once the port is closed no further call comes, and another process leads only once all calls have ended.
// Nothing that these calls wait for is bound, and that process plans from scratch.
func (Stopped) apply(t *turn) {
	t.stopped = true
	for _, g := range t.those(func(g *group) bool { return g.counts[held] > 0 }) {
		t.endIfStopped(g)
	}
}

// endIfStopped ends the held calls of a group whose start is not being recorded, once nobody looks
// after them.
func (t *turn) endIfStopped(g *group) {
	if !t.stopped || g.recording != 0 {
		return
	}
	for _, p := range g.in(held) {
		t.giveUp(p, ErrStopped)
	}
}

// The scheduler has died, or has something else in mind: the member keeps its place for the next call about it,
// for the time that its gang may take. It has to come there again, as no call vouches for what the former one
// said.
func (e HungUp) apply(t *turn) {
	if p := t.member(e.UID); p != nil && p.hold == e.Hold {
		t.endHold(p, e.Err)
		t.enter(p, placed)
	}
}

func (e Bound) apply(t *turn) {
	p := t.member(e.UID)
	switch {
	case p == nil || p.stage != binding:
	case e.Err == nil:
		t.enter(p, bound)
	default:
		g := t.groupOf[e.UID]
		g.waits(status.Waiting, fmt.Sprintf("%s could not be bound to %s: %v", p.pod.Name, p.place, e.Err))
		t.enter(p, pending)
		if t.view.Binding(e.UID) != "" {
			g.unsure = g.unsure.Union(sets.New(e.UID))
		}
	}
}

// recall returns members to their places when the answer to their binding was lost. They may be bound there at any
// moment, so they count there and get no other place.
func (t *turn) recall(parts []part) {
	for _, p := range parts {
		for uid := range p.unsure {
			member, node := p.members[uid], t.view.Binding(uid)
			switch {
			case node == "" || member == nil:
				p.unsure.Delete(uid)
			case member.stage == pending:
				if !p.holds() {
					p.planned = t.now
				}
				t.enter(member, placed)
				member.place = node
			}
		}
	}
}

func (e Placed) apply(t *turn) {
	p := t.member(e.UID)
	if p == nil {
		return
	}
	p.refused, p.astray = false, false
	switch p.stage {
	case pending: // its plan has ended meanwhile: bind will say so
	case due: // it may go wherever there is room
		p.place = e.Node
	case held, kept:
		t.endHold(p, ErrAskedAgain) // the scheduler has given it up
		t.move(p, e.Node, kept)
	case reserved: // somebody else has lifted its gate
		t.move(p, e.Node, reserved)
	case placed:
		p.place = e.Node
	case binding: // of a call the scheduler has given up, and it is about to end
		t.enter(p, placed)
		p.place = e.Node
	case bound, leaving:
	}
}

// move has a member be at a stage if it is sent to its place again. To another one it has not come yet.
func (t *turn) move(p *member, node string, to stage) {
	if node != p.place {
		to = placed
	}
	t.enter(p, to)
	p.place = node
}

// keep ends held calls whose own time is up. Their members keep their places for as long as their gang does,
// and count as such that have come: the scheduler is to ask and to bind again.
func (t *turn) keep(parts []part) {
	for _, part := range parts {
		if part.counts[held] == 0 || t.now.Before(part.firstEnd) {
			continue // with every bind call of a large gang this is asked
		}
		part.firstEnd = time.Time{}
		for _, p := range part.in(held) {
			switch {
			case !t.now.Before(p.until):
				t.endHold(p, ErrKept)
				t.enter(p, kept)
			case part.firstEnd.IsZero() || p.until.Before(part.firstEnd):
				part.firstEnd = p.until
			}
		}
	}
}

// lapse gives up members that were let go and did not come in the time that a gang has.
func (t *turn) lapse(g *group) {
	for _, p := range g.in(due) {
		if !t.now.Before(p.until) {
			t.giveUp(p, ErrTimeout)
		}
	}
}
