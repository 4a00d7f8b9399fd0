package gang

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/core"
)

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
