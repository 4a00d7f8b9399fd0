package gang

import "muster.dev/muster/gang/core"

// writeAll has starts recorded at once.
func writeAll(m *Manager) {
	m.records.write = func(r core.WriteRecords) { go m.recorded(r.Commit, nil) }
}
