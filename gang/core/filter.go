package core

import (
	"time"

	"muster.dev/muster/gang/status"
)

func (e Asked) apply(t *turn) {
	g := t.groupOf[e.Pod.UID]
	if g == nil {
		return
	}
	p := g.members[e.Pod.UID]
	if p.knows = e.Pod.Status.NominatedNodeName; p.knows == "" {
		t.looksAt = e.Nodes
	}
	if p.stage == due {
		t.send(p)
		return
	}
	parts, not := t.bundle(g)
	switch {
	case not != nil:
		t.giveUp(p, ErrNoGroup)
		t.refuse(p, not.refusal)
	case t.awaiting(parts, p):
		p.refused = true
		t.decide(Decision{Reason: ReasonVictims, Waits: true})
	case p.stage != pending:
		t.send(p)
	case startedAll(parts) && !parts[0].spec.AsksNetwork():
		p.refused = false
		t.decide(Decision{}) // as room allows
	default:
		(&attempt{turn: t, purpose: forFilter, parts: parts, asking: p}).plan()
	}
}

// send tells the scheduler of the place of a member.
func (t *turn) send(p *member) {
	g := t.groupOf[p.pod.UID]
	g.tries.spoke = true
	p.told, p.untrue = "", false
	t.decide(Decision{Member: true, Node: p.place, Only: g.spec != nil && g.spec.BindsPlaces()})
}

func (t *turn) refuse(p *member, reason string) {
	p.refused, p.told, p.untrue = true, reason, false
	t.decide(Decision{Reason: reason})
}

// SchedulerLag is how long a scheduler may take to see what a plan was made by: that victims have gone from a
// place. It has a view of its own, and offers other nodes until then.
const SchedulerLag = 2 * time.Second

func (e Refused) apply(t *turn) {
	g := t.groupOf[e.UID]
	if g == nil {
		return
	}
	p := g.members[e.UID]
	p.refused = true
	if p.stage == pending {
		return // its plan has ended meanwhile
	}
	knew := p.knows == p.place
	if knew && t.now.Before(g.planned.Add(SchedulerLag)) {
		t.unwoken[e.UID] = t.now.Add(WakeRetry) // it is to look again
		return
	}
	if e.Missed && p.knows == "" {
		p.astray = true
		steering{t}.steer(p, t.view.NodeCount())
		return
	}
	t.giveUp(p, ErrRefused)
	parts, not := t.bundle(g)
	switch {
	case not != nil:
	case !knew:
		p.astray = true
		(&attempt{turn: t, purpose: replan, parts: parts}).plan() // denies the group if there is no place
	case !bearable(parts, t.limits.MaxGap):
		p.behind = true
		why := p.pod.Name + " fits none of the nodes that the scheduler offers"
		t.deny(g, status.Unschedulable, why, ErrScheduler)
	}
}

func (e PlannedAhead) apply(t *turn) {
	g := t.groups[e.Group]
	if g == nil || len(g.members) == 0 || t.now.Before(g.again) {
		return
	}
	parts, not := t.bundle(g)
	switch {
	case not != nil:
	case anyMissing(parts), leading{t}.wants(parts):
		(&attempt{turn: t, purpose: ahead, parts: parts}).plan()
	case startedAll(parts):
		steering{t}.wakeRefused(g)
	}
}
