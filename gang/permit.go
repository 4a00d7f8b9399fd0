package gang

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/core"
)

// hold is a bind call that waits for quorum.
type hold struct {
	id    core.HoldID
	done  chan struct{}
	ended bool
	err   error // once done is closed; nil lets the call go on
}

// Permit waits until a pod may be bound to a node: at once, if it is of no gang or of one that has started,
// else until enough members to start together have come or are bound. The pod must count on the node already.
// An error says that the pod must not be bound, and that it does not count there on behalf of its gang any
// more. If the call alone has taken the longest time allowed ([core.ErrKept]), or ctx has ended, the pod keeps
// its place.
//
// After a nil error the caller binds the pod and reports the result with Bound.
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

// Bound reports the result of binding a pod that was permitted.
func (m *Manager) Bound(uid types.UID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bound = core.Bound{UID: uid, Err: err}
	m.apply(&m.bound)
}

// hold takes in a bind call. There is nothing to wait for when it returns nil.
func (m *Manager) hold(uid types.UID, node string) (*hold, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.binds = core.Binds{UID: uid, Node: node}
	o := m.apply(&m.binds)
	return o.hold, o.err
}

// drop ends a held call that nobody waits for any more.
func (m *Manager) drop(uid types.UID, h *hold, why error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.ended {
		return h.err
	}
	m.apply(core.HungUp{UID: uid, Hold: h.id, Err: why})
	return why
}

// carryOutHold carries out what the core says of a bind call.
func (m *machine) carryOutHold(effect core.Effect, o *outcome) {
	switch e := effect.(type) {
	case core.BeginHold:
		if m.holds[e.Hold] == nil {
			m.holds[e.Hold] = &hold{id: e.Hold, done: make(chan struct{})}
		}
		o.hold = m.holds[e.Hold]
	case core.EndHold:
		h := m.holds[e.Hold]
		delete(m.holds, e.Hold)
		m.metrics.holds.Observe(e.Held.Seconds())
		h.ended, h.err = true, e.Err
		close(h.done)
	case core.RefuseBind:
		o.err = e.Err
	}
}
