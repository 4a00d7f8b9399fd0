package gang

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// bystanders are pods of no gang that fitted no node while gangs kept room. That the room is
// given up is no event to the scheduler, so they are woken then if they fit.
type bystanders struct {
	missed sets.Set[types.UID]
	// gaveUp says that room was given up since those that missed it were last taken for a look.
	gaveUp bool
	toLook []types.UID
}

// mostLookedAt is how many bystanders are looked at in one go.
const mostLookedAt = 100

// Missed says that filter found no node for a pod that is to be placed for itself.
func (m *Manager) Missed(pod *cluster.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keepsRoom() {
		m.bystanders.missed.Insert(pod.UID)
	}
}

// keepsRoom says that members count on places to which they are not bound yet.
func (m *Manager) keepsRoom() bool {
	for _, g := range m.groups {
		if g.counts[placed]+g.counts[held] > 0 {
			return true
		}
	}
	return false
}

// wakeBystanders has the scheduler try those that fit now. They are judged without the lock, so
// that no call waits for that.
func (m *Manager) wakeBystanders() {
	for _, uid := range m.bystandersToLookAt() {
		pod := m.cluster.PendingPod(uid)
		switch {
		case pod == nil:
		case m.fitsSomewhere(pod):
			m.writer.Post(func(ctx context.Context) (bool, error) { return m.writeWake(ctx, pod) })
		default:
			m.Missed(pod)
		}
	}
}

func (m *Manager) bystandersToLookAt() []types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &m.bystanders
	switch {
	case b.gaveUp:
		b.toLook = append(b.toLook, b.missed.UnsortedList()...)
		b.missed.Clear()
		b.gaveUp = false
	case !m.keepsRoom():
		b.missed.Clear()
	}
	now := b.toLook[:min(len(b.toLook), mostLookedAt)]
	b.toLook = b.toLook[len(now):]
	return now
}

func (m *Manager) fitsSomewhere(pod *cluster.Pod) bool {
	store := m.profiles.Of(pod.Spec.SchedulerName)
	if store == nil {
		return false
	}
	view := store.View(pod)
	defer view.Close()
	for node := range view.Snapshot.Nodes() {
		if view.Verdict(node.Index) == predicates.Fits {
			return true
		}
	}
	return false
}
