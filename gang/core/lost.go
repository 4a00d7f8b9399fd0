package core

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/membership"
)

// Lost returns the gangs of which members run, but fewer than must run together, while others wait for a place: these go
// before all pods of no higher priority, since those that run are of no use without them. Left out are gangs of a priority
// lower than that, those for which there was no place at a generation of the cluster, and the one of a pod.
func (s *State) Lost(least int32, generation uint64, but types.UID) []membership.Key {
	var lost []*group
	own := s.groupOf[but]
	for _, g := range s.groups { // this is asked often, and there are few
		if g == own || g.counts[pending] == 0 || g.letGo() == 0 || g.priority < least || g.looked == generation {
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
