package core

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/membership"
)

// Lost returns the gangs that run with fewer members than must run together, while other members wait for a place: these go
// before all pods of no higher priority, since what runs is of no use without them. It leaves out gangs of a priority lower
// than least, gangs without a place at that generation of the cluster, and the gang of a pod.
func (s *State) Lost(least int32, generation uint64, but types.UID) []membership.Key {
	var lost []*group
	own := s.groupOf[but]
	for g := range s.partly {
		if g == own || g.letGo() == 0 || g.priority < least || g.looked == generation {
			continue
		}
		if parts, not := s.together(g); not == nil && anyMissing(parts) {
			lost = append(lost, g)
		}
	}
	slices.SortFunc(lost, before)
	keys := make([]membership.Key, 0, len(lost))
	for _, g := range lost {
		keys = append(keys, g.key)
	}
	return keys
}

// isPartly reports whether some members of a group wait, and others do not, or have finished.
func (g *group) isPartly() bool {
	return g.counts[pending] > 0 && (len(g.members) > g.counts[pending] || len(g.done.pods) > 0)
}

// counted notes that members of a group have come, gone, finished or changed their stage.
func (s *State) counted(g *group) {
	if g.isPartly() {
		s.partly[g] = struct{}{}
	} else {
		delete(s.partly, g)
	}
}
