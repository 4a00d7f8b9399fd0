package gang

import (
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// lacking names the resource whose free amount on all nodes together is less than one of some groups is to
// have; "" when there is enough.
func (s *search) lacking(parts []core.Wanted) string {
	for _, p := range parts {
		if len(p.Resources) == 0 || p.AtLeast == 0 {
			continue
		}
		if why := membership.Lacking(p.Resources, p.Own, s.cluster.Snapshot()); why != "" {
			return why
		}
	}
	return ""
}
