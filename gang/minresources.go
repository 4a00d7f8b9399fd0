package gang

import (
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// lacking names the resource whose free amount on all nodes together is less than one of some groups is to
// have; "" when there is enough.
func (p *ports) lacking(parts []core.Wanted) string {
	for _, part := range parts {
		if len(part.Resources) == 0 || part.AtLeast == 0 {
			continue
		}
		if why := membership.Lacking(part.Resources, part.Own, p.cluster.Snapshot()); why != "" {
			return why
		}
	}
	return ""
}
