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
				beside, running := s.beside(c.Key)
				at[c.Key], all = n, append(all, Common{Topology: c.Topology, Beside: beside, Running: running})
			}
			all[n].Parts = append(all[n].Parts, i)
		}
	}
	return all
}

// beside returns the nodes of all members that have places, and of the bound ones, in all groups that share a domain. Groups that have
// started share it, too.
func (s *State) beside(domain membership.Key) (all, running []string) {
	for _, g := range s.groups {
		if g.spec == nil || !g.spec.Shares(domain) {
			continue
		}
		for _, m := range g.those((*member).givesWay) {
			if all = append(all, m.place); m.stage == bound {
				running = append(running, m.place)
			}
		}
	}
	slices.Sort(all)
	slices.Sort(running)
	return all, running
}
