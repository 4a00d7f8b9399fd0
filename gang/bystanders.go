package gang

import (
	"context"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// mostWoken is how many bystanders are woken at a time.
const mostWoken = 100

// Missed says that filter found no node for a pod that is to be placed for itself. If gangs keep
// room that they may give up, the pod is woken when they do: to the scheduler that is no event.
func (m *Manager) Missed(pod *cluster.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keepsRoom() {
		m.bystanders.Insert(pod.UID)
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

// wakeBystanders has the scheduler try pods that fitted no node while gangs kept room, once
// some of it was given up and they fit.
func (m *Manager) wakeBystanders() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.gaveUp {
		if !m.keepsRoom() {
			m.bystanders.Clear()
		}
		return
	}
	woken := 0
	for uid := range m.bystanders {
		pod := m.cluster.PendingPod(uid)
		switch {
		case pod == nil:
			m.bystanders.Delete(uid)
		case woken == mostWoken:
			return // the others next time
		case m.fitsSomewhere(pod):
			m.bystanders.Delete(uid)
			m.writer.Post(func(ctx context.Context) (bool, error) { return m.writeWake(ctx, pod) })
			woken++
		}
	}
	m.gaveUp = false
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
