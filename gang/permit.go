package gang

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/gang/status"
)

// Why a held call ends without quorum. The scheduler shows the text as the reason of the
// failed binding.
var (
	errGone       = errors.New("gang: the pod is gone or being deleted")
	errRefused    = errors.New("gang: there is no place for as many members as must start together")
	errTimeout    = errors.New("gang: not enough members could be bound in time")
	errVictims    = errors.New("gang: pods that are to be evicted were not gone in time")
	errUnrecorded = errors.New("gang: the start of the gang could not be recorded in time")
	errNodeGone   = errors.New("gang: the node is gone")
	errUncounted  = errors.New("gang: the pod does not count on its place any more")
	errNoGroup    = errors.New("gang: the group is gone or not valid")
	errAskedAgain = errors.New("gang: the scheduler asked about the pod again")
	errStopped    = errors.New("gang: this replica of muster is stopping")
)

// hold is a bind call that waits for quorum.
type hold struct {
	until time.Time
	done  chan struct{}
	ended bool
	err   error // once done is closed; nil lets the call go on
}

// end lets the call go on, or fail. Only the first end counts.
func (h *hold) end(err error) {
	if h == nil || h.ended {
		return
	}
	h.ended, h.err = true, err
	close(h.done)
}

// Permit waits until a pod may be bound to a node: at once, if it is of no gang or of one
// that has started, else when as many members as must start together are held or bound.
// The pod must count on the node already. An error says that the pod must not be bound,
// and that it does not count there on behalf of its gang any more.
//
// After a nil error the caller binds the pod and says with Bound what came of it.
func (m *Manager) Permit(ctx context.Context, uid types.UID, node string) error {
	h, err := m.hold(uid, node)
	if h == nil {
		return err
	}
	select {
	case <-h.done:
		return h.err
	case <-ctx.Done():
		return m.drop(uid, h, ctx.Err())
	}
}

// hold takes in a bind call. There is nothing to wait for when it returns nil.
func (m *Manager) hold(uid types.UID, node string) (*hold, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.groupOf[uid]
	if g == nil {
		return nil, nil
	}
	p := g.members[uid]
	switch {
	case p.stage == binding || p.stage == bound:
		return nil, nil // once more: the API server knows
	case p.stage == held && p.place == node:
		return p.hold, nil
	case p.stage == held:
		return nil, fmt.Errorf("gang: the pod is held for node %s already", p.place)
	case !p.ready():
		m.giveUp(p, errGone)
		return nil, errGone
	}
	parts, reason := m.bundle(g)
	if reason != "" {
		m.giveUp(p, errNoGroup)
		return nil, errNoGroup
	}
	m.recall(parts)
	if p.stage == pending && !startedAll(parts) { // its plan has ended since the filter call
		m.cluster.Release(uid)
		return nil, errRefused
	}
	h := &hold{until: m.clock.Now().Add(m.limits.Hold), done: make(chan struct{})}
	m.enter(p, held)
	p.place, p.hold = node, h
	m.commit(parts)
	m.endIfStopped(g)
	return h, nil
}

// endHolds ends held calls for good: with the port closed nobody else comes, and another process
// leads only once they have ended. Nothing of what they wait for is bound, and it plans anew.
func (m *Manager) endHolds() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	for _, g := range m.groups {
		m.endIfStopped(g)
	}
}

// endIfStopped ends the held calls of a group whose start is not being recorded, once nobody looks
// after them.
func (m *Manager) endIfStopped(g *group) {
	if !m.stopped || g.recording != nil {
		return
	}
	for _, p := range g.in(held) {
		m.giveUp(p, errStopped)
	}
}

// drop ends a held call that nobody waits for any more.
func (m *Manager) drop(uid types.UID, h *hold, why error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.ended {
		return h.err
	}
	g := m.groupOf[uid]
	m.giveUp(g.members[uid], why)
	return why
}

// Bound says what came of binding a pod that was permitted.
func (m *Manager) Bound(uid types.UID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groupOf[uid]
	if g == nil {
		return
	}
	p := g.members[uid]
	switch {
	case p.stage != binding:
	case err == nil:
		m.enter(p, bound)
	default:
		g.waits(status.Waiting, fmt.Sprintf("%s could not be bound to %s: %v", p.pod.Name, p.place, err))
		m.enter(p, pending)
		if m.cluster.Binding(uid) != "" {
			g.unsure = g.unsure.Union(sets.New(uid))
		}
	}
}

// recall gives members back the places to which they may be bound any moment, as the answer
// to a binding was lost: they count there, and get no other one.
func (m *Manager) recall(parts []part) {
	for _, p := range parts {
		for uid := range p.unsure {
			member, node := p.members[uid], m.cluster.Binding(uid)
			switch {
			case node == "" || member == nil:
				p.unsure.Delete(uid)
			case member.stage == pending:
				if p.counts[placed]+p.counts[held] == 0 {
					p.planned = m.clock.Now()
				}
				m.enter(member, placed)
				member.place = node
			}
		}
	}
}

// expire ends what has taken too long, and keeps the others counted on their places.
func (m *Manager) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.denied.expire()
	now := m.clock.Now()
	m.wakeAgain(now)
	renew := now.Sub(m.renewed) >= m.limits.Renew
	if renew {
		m.renewed = now
	}
	for _, g := range m.groups {
		c := g.counts
		if c[placed]+c[held] == 0 {
			continue
		}
		parts, reason := m.bundle(g)
		if reason != "" {
			m.deny(g, g.reason, g.why, errNoGroup)
			continue
		}
		waits := m.awaiting(parts, nil)
		if parts[0].late(now) {
			m.denyLate(parts[0], waits)
			continue
		}
		m.evictLeft(parts, now)
		m.commit(parts) // the spec may have changed
		for uid, p := range g.members {
			if renew && (p.stage == placed || p.stage == held) && !m.cluster.Renew(uid) {
				m.giveUp(p, errUncounted) // this process was stopped for too long
			}
		}
	}
}

// denyLate denies a group whose time is up, and those that start with it.
func (m *Manager) denyLate(p part, waitsForVictims bool) {
	switch {
	case waitsForVictims:
		m.deny(p.group, status.TimedOut, "pods that are to be evicted for it were not gone when the time was up", errVictims)
	case p.recording != nil:
		m.deny(p.group, status.TimedOut, "its start was not recorded when the time was up", errUnrecorded)
	default:
		m.deny(p.group, status.TimedOut,
			fmt.Sprintf("%d of %d members were held or bound when the time was up", p.letGo()+p.counts[held], p.spec.MinMember), errTimeout)
	}
}

// late says whether a plan or a held call has waited too long. The plan of a gang that has
// started is over once no member is to come to its place.
func (p part) late(now time.Time) bool {
	if (!p.started() || p.counts[placed] > 0) && !now.Before(p.deadline(p.spec)) {
		return true
	}
	for _, member := range p.members {
		if member.hold != nil && !now.Before(member.hold.until) {
			return true
		}
	}
	return false
}
