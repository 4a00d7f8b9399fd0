package gang

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
)

// steer wakes a member if the scheduler waits for an event to try it again, and tells where it
// is to go, by nomination, if there is need: a scheduler that looks at few nodes comes upon the
// place, or another one that is as good, sooner than the write is done. It may be faster in any
// case: then there is nothing to tell.
func (m *Manager) steer(p *member, nominate bool) {
	uid, wake := p.pod.UID, p.sleeps()
	if nominate {
		m.writer.Post(func(ctx context.Context) (bool, error) { return m.nominate(ctx, uid, nominateTries) })
	}
	if wake {
		m.postWake(uid)
	}
}

// worthNominating says that the scheduler may not come upon the place of a member by itself.
func (m *Manager) worthNominating(p *member, snap *cluster.Snapshot) bool {
	return p.astray || min(m.looksAt, snap.NodeCount()) > m.limits.Few
}

// nominateTries is how often a nomination is written to a pod that keeps changing.
const nominateTries = 3

// nominate brings what the status of a pod says in line with what is planned.
func (m *Manager) nominate(ctx context.Context, uid types.UID, tries int) (written bool, err error) {
	pod, node := m.toNominate(uid)
	if pod == nil {
		return false, nil
	}
	err = m.client.Nominate(ctx, pod.Pod, node)
	if nomination.Outdated(err) && tries > 1 {
		m.writer.Post(func(ctx context.Context) (bool, error) { return m.nominate(ctx, uid, tries-1) })
	}
	if err != nil {
		m.notWithdrawn(uid)
		err = fmt.Errorf("nominate %s/%s to %q: %w", pod.Namespace, pod.Name, node, err)
	}
	return true, err
}

// toNominate is the pod and the node to write, no pod when the status is right or is not
// muster's.
func (m *Manager) toNominate(uid types.UID) (pod *cluster.Pod, node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.groupOf[uid]
	if g == nil {
		return nil, ""
	}
	p := g.members[uid]
	if !m.unfounded(p) {
		p.withdrawn = ""
	}
	nominated := p.pod.Status.NominatedNodeName
	mine := p.pod.NominatedBy() == nomination.FieldManager
	switch {
	case p.stage == placed && nominated != p.place && (nominated == "" || mine):
		return p.pod, p.place
	case m.unfounded(p):
		return p.pod, ""
	}
	return nil, ""
}

// schedulerManager is who kube-scheduler is for the API server when it nominates a pod.
const schedulerManager = "kube-scheduler"

// unfounded says that no plan stands behind the nomination of a member: one of muster's, or one
// that kube-scheduler made when pods were evicted for a gang that has not started. kube-scheduler
// has no room there then for pods of the same or a lower priority, and does not take it back when
// it is told that nobody is to be evicted (Preempt in pkg/scheduler/framework/preemption).
func (m *Manager) unfounded(p *member) bool {
	if p.stage != pending || p.pod.Status.NominatedNodeName == "" {
		return false
	}
	switch p.pod.NominatedBy() {
	case nomination.FieldManager:
		return true
	case schedulerManager:
		return !m.hasStarted(m.groupOf[p.pod.UID]) // else they preempt for themselves
	default:
		return false
	}
}

// withdraw takes back a nomination that no plan stands behind. What that pod kept out is tried
// again: to the scheduler it is as if the pod had gone from the node.
func (m *Manager) withdraw(p *member) {
	if m.unfounded(p) && p.withdrawn != p.pod.ResourceVersion {
		uid := p.pod.UID
		p.withdrawn = p.pod.ResourceVersion
		m.writer.Post(func(ctx context.Context) (bool, error) { return m.nominate(ctx, uid, nominateTries) })
	}
}

// notWithdrawn says that a write about a pod has failed.
func (m *Manager) notWithdrawn(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.groupOf[uid]; g != nil {
		g.members[uid].withdrawn = ""
	}
}

// wakeRefused has the scheduler try those members of a group that has started which were refused
// before it had: that it has is no event to the scheduler.
func (m *Manager) wakeRefused(g *group) {
	for uid, p := range g.members {
		if p.stage == pending && p.refused && p.ready() {
			p.refused = false // what comes of it, and what filter says meanwhile, may change that
			m.postWake(uid)
		}
	}
}

// PlacesAlone says that a pod is placed for itself: it is of no gang, or of one that has started and
// has no place for it.
func (m *Manager) PlacesAlone(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.groupOf[uid]
	return g == nil || g.members[uid].stage == pending && m.hasStarted(g)
}

// hasStarted says that members may start one by one.
func (m *Manager) hasStarted(g *group) bool {
	parts, reason := m.bundle(g)
	return reason == "" && startedAll(parts)
}

func (m *Manager) postWake(uid types.UID) {
	m.writer.Post(func(ctx context.Context) (bool, error) { return m.wake(ctx, uid) })
}

// wake has the scheduler try a pod again: a change of an annotation is an event to it. A member
// that has lost its place meanwhile sleeps on, until it has another one.
func (m *Manager) wake(ctx context.Context, uid types.UID) (written bool, err error) {
	pod := m.toWake(uid)
	if pod == nil {
		return false, nil
	}
	if err = m.client.Wake(ctx, pod.Pod); err == nil {
		return true, nil
	}
	if !apierrors.IsNotFound(err) {
		m.mu.Lock()
		m.unwoken[uid] = m.clock.Now().Add(wakeRetry)
		m.mu.Unlock()
	}
	return true, fmt.Errorf("wake %s/%s: %w", pod.Namespace, pod.Name, err)
}

// toWake is the pod to wake, nil when there is nothing that it could find.
func (m *Manager) toWake(uid types.UID) *cluster.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groupOf[uid]
	if g == nil {
		return nil
	}
	p := g.members[uid]
	if p.stage == placed || p.stage == pending && m.hasStarted(g) {
		return p.pod
	}
	p.refused = p.refused || p.stage == pending
	return nil
}

// wakeRetry is how long a pod is left after it could not be woken.
const wakeRetry = time.Second

// wakeAgain has those woken who could not be.
func (m *Manager) wakeAgain(now time.Time) {
	for uid, at := range m.unwoken {
		if !now.Before(at) {
			delete(m.unwoken, uid)
			m.postWake(uid)
		}
	}
}
