package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"muster.dev/muster/gang/status"
)

func (Ticked) apply(t *turn) {
	t.wakeAgain()
	renew := t.now.Sub(t.renewed) >= t.limits.Renew
	if renew {
		t.renewed = t.now
	}
	for _, g := range t.those((*group).keeps) {
		if g.leads(t.view) {
			leading{t}.lapse(g)
			leading{t}.remind(g)
		} else {
			t.lapse(g)
		}
		if g.holds() { // one before it may have taken it along
			t.expire(g)
		}
		if renew {
			t.renew(g)
		}
	}
	breakup{t}.breakShort()
	breakup{t}.evictDoomed()
}

// expire ends what is planned for a group if it has taken too long.
func (t *turn) expire(g *group) {
	parts, not := t.bundle(g)
	if not != nil {
		t.deny(g, g.reason, g.why, ErrNoGroup)
		return
	}
	if g.clearing != nil {
		breakup{t}.breakUp(g)
	}
	waits := t.awaiting(parts, nil)
	if parts[0].late(t.now) {
		t.denyLate(parts[0], waits)
		return
	}
	t.evictLeft(parts)
	if !anyReserved(parts) {
		t.commit(parts) // the spec may have changed
	}
}

// renew keeps members counted on their places.
func (t *turn) renew(g *group) {
	for _, p := range g.in(placed, held, kept, reserved, due) {
		if !t.ports.Renew(p.pod.UID) {
			t.giveUp(p, ErrUncounted) // this process was stopped for too long
		}
	}
}

// denyLate denies a group whose time is up, and the groups that start with it.
func (t *turn) denyLate(p part, waitsForVictims bool) {
	switch {
	case waitsForVictims:
		t.deny(p.group, status.TimedOut, "pods that are to be evicted for it were not gone when the time was up", ErrVictims)
	case p.recording != 0:
		t.deny(p.group, status.TimedOut, "its start was not recorded when the time was up", ErrUnrecorded)
	default:
		why := fmt.Sprintf("%d of %d members were held or bound when the time was up", p.letGo()+p.counts.came(), p.spec.MinMember)
		err := ErrTimeout
		if member := p.refused(); member != nil && p.tries.spoke {
			err = ErrScheduler
			why += fmt.Sprintf("; kube-scheduler does not put %s on %s: its condition PodScheduled says why", member.pod.Name, member.place)
		}
		t.deny(p.group, status.TimedOut, why, err)
	}
}

// deny gives up what is planned for a group and the groups that start with it: held calls end with an error, by
// which denials are counted, and for a while none of the groups is planned again.
func (t *turn) deny(g *group, reason status.Reason, why string, err error) {
	denied := []part{{group: g}}
	if parts, not := t.bundle(g); not == nil {
		denied = parts
	}
	if vain(err) {
		why += t.inVain(denied)
	}
	for _, d := range denied {
		for _, p := range d.in(pending, placed, held, kept, reserved) { // members that are let go are
			t.giveUp(p, err)
		}
		breakup{t}.endClearing(d.group)
		d.failed, d.planned, d.again = t.now, time.Time{}, t.now.Add(t.limits.DenyTTL)
		d.recording, d.tries.spoke, d.tries.evicted = 0, false, false
		d.waits(reason, why)
		d.denied = t.now.Add(t.limits.DenyTTL)
	}
	t.has(Denied{err})
}

func (e NotWoken) apply(t *turn) { t.unwoken[e.UID] = t.now.Add(WakeRetry) }

// WakeRetry is how long a pod is left after it could not be woken.
const WakeRetry = time.Second

// wakeAgain has those woken who could not be.
func (t *turn) wakeAgain() {
	for _, uid := range slices.Sorted(maps.Keys(t.unwoken)) {
		if !t.now.Before(t.unwoken[uid]) {
			delete(t.unwoken, uid)
			t.has(Wake{uid})
		}
	}
}
