package gang

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// news describes what is to be published.
type news struct {
	told   []told
	tables map[string]cluster.CustomTable // of PodGroups by label, as Changed last saw them
}

// Observe returns what the status of a group's PodGroup is to say. It reports false when there is none,
// or it makes no sense.
func (m *Manager) Observe(key membership.Key) (status.Observation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	object := m.ports.PodGroup(key)
	if object == nil || object.PodGroup == nil {
		return status.Observation{}, false
	}
	o, known := m.state.Observe(key)
	if known {
		o.SchedulerName = m.reporter(o.SchedulerName)
	}
	o.PodGroup = object.PodGroup
	return o, true
}

// Changed returns the groups that may have changed since the last call: their pods, why they wait, or their
// PodGroups.
func (m *Manager) Changed() []membership.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	changed := sets.New(m.apply(core.ChangesDue{}).changed...)
	snap := m.ports.cluster.Snapshot()
	for _, label := range v1alpha1.GroupLabels() {
		if apiGroup := v1alpha1.APIGroupOf(label); apiGroup != "" {
			m.news.compare(label, snap.Custom(v1alpha1.ResourceOf(apiGroup)), changed)
		}
	}
	return changed.UnsortedList()
}

// compare notes which PodGroups are other ones than when it last looked.
func (n *news) compare(label string, now cluster.CustomTable, changed sets.Set[membership.Key]) {
	before := n.tables[label]
	if now == before {
		return
	}
	for name, object := range now.All() {
		if was, known := before.Get(name); !known || was != object {
			changed.Insert(membership.Key{Label: label, NamespacedName: name})
		}
	}
	for name := range before.All() {
		if _, known := now.Get(name); !known {
			changed.Insert(membership.Key{Label: label, NamespacedName: name})
		}
	}
	n.tables[label] = now
}

// Report says how far all gangs are, in the order in which they are planned.
func (m *Manager) Report() []core.Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	return m.state.Report()
}

// About says all about the gangs of a name: there may be one for each label.
func (m *Manager) About(name types.NamespacedName) []core.Details {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	return m.state.About(name, m.clock.Now())
}

// Member says how far a pod is as a member of a gang, and how far that is. It reports false for a pod
// that is of none.
func (m *Manager) Member(uid types.UID) (core.Summary, core.Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.apply(core.LookedAt{UID: uid})
	return m.state.Member(uid, m.clock.Now())
}

// look brings the knowledge of every group up to date.
func (m *Manager) look() {
	m.receive()
	m.apply(core.Looked{})
}
