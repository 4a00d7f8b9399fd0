package gang

import (
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/membership"
)

// Finished says that a pod has finished, or is gone after that. The view of the cluster may
// show it running for a moment longer, or not show it any more already: it counts once all
// the same.
func (m *Manager) Finished(pod finished.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := membership.Key{Label: pod.Label, NamespacedName: pod.Group}
	if pod.Gone && m.groups[key] == nil {
		return
	}
	g := m.group(key, pod.Created)
	done := g.done.succeeded
	if pod.Phase == corev1.PodFailed {
		done = g.done.failed
	}
	g.dirty, g.looked = true, 0
	if pod.Gone {
		done.Delete(pod.UID)
		m.forget(g)
		return
	}
	done.Insert(pod.UID)
	if of := m.groupOf[pod.UID]; of != nil {
		m.leave(of, pod.UID)
	}
	m.inbox.ring()
}
