package gang

import (
	"iter"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// Observe is what the status of a group's PodGroup is to say; false when there is none, or
// it makes no sense.
func (m *Manager) Observe(key membership.Key) (status.Observation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	object := m.podGroup(key)
	if object == nil || object.PodGroup == nil {
		return status.Observation{}, false
	}
	o := status.Observation{PodGroup: object.PodGroup}
	g := m.groups[key]
	if g == nil {
		return o, true
	}
	o.SchedulerName = m.reporter(g.schedulerName)
	o.Counts = g.statusCounts()
	o.OccupiedBy = status.OccupiedBy(g.pods())
	o.Reason, o.Message = g.reason, g.why
	return o, true
}

// statusCounts are the pods of a group as its status has them.
func (g *group) statusCounts() status.Counts {
	c := status.Counts{Succeeded: g.done.succeeded.Len(), Failed: g.done.failed.Len()}
	for _, p := range g.members {
		switch {
		case p.stage == bound && p.pod.Status.Phase == corev1.PodRunning:
			c.Running++
		case p.stage == bound:
			c.Bound++
		case p.stage == held || p.stage == binding:
			c.Held++
		default:
			c.Pending++
		}
	}
	return c
}

func (g *group) pods() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, p := range g.members {
			if !yield(p.pod.Pod) {
				return
			}
		}
	}
}

// Changed are the groups of which something may have changed since it was last asked: of
// their pods, of why they wait, or of their PodGroups.
func (m *Manager) Changed() []membership.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	for key, g := range m.groups {
		if g.dirty {
			m.changed.Insert(key)
			g.dirty = false
		}
	}
	snap := m.cluster.Snapshot()
	for _, label := range v1alpha1.GroupLabels() {
		if apiGroup := v1alpha1.APIGroupOf(label); apiGroup != "" {
			m.compare(label, snap.Custom(v1alpha1.ResourceOf(apiGroup)))
		}
	}
	keys := m.changed.UnsortedList()
	m.changed.Clear()
	return keys
}

// compare notes which PodGroups are other ones than when it last looked.
func (m *Manager) compare(label string, now cluster.CustomTable) {
	before := m.tables[label]
	if now == before {
		return
	}
	for name, object := range now.All() {
		if was, known := before.Get(name); !known || was != object {
			m.changed.Insert(membership.Key{Label: label, NamespacedName: name})
		}
	}
	for name := range before.All() {
		if _, known := now.Get(name); !known {
			m.changed.Insert(membership.Key{Label: label, NamespacedName: name})
		}
	}
	m.tables[label] = now
}
