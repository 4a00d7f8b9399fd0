package core

import (
	"slices"

	"muster.dev/muster/gang/membership"
)

// commons returns the domains of the network that parts share, an outer one before the ones in it.
func (s *State) commons(parts []part) (all []Common) {
	at := map[membership.Key]int{}
	for i, p := range parts {
		for _, c := range p.spec.Within {
			n, known := at[c.Key]
			if !known {
				n = len(all)
				beside, bound := s.beside(c.Key)
				at[c.Key], all = n, append(all, Common{Topology: c.Topology, Beside: beside, Bound: bound})
			}
			all[n].Parts = append(all[n].Parts, i)
		}
	}
	return all
}

// beside returns the nodes of members that have places, and of the ones that are bound, of all groups that share a domain: of groups
// that have started, too.
func (s *State) beside(domain membership.Key) (nodes, onNodes []string) {
	for _, g := range s.groups {
		if g.spec == nil || !g.spec.Shares(domain) {
			continue
		}
		for _, m := range g.those((*member).givesWay) {
			if nodes = append(nodes, m.place); m.stage == bound {
				onNodes = append(onNodes, m.place)
			}
		}
	}
	slices.Sort(nodes)
	slices.Sort(onNodes)
	return nodes, onNodes
}
