package core

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/status"
)

// Lower returns the members that have places in gangs of a priority lower than another one's, and the nodes. A
// gang keeps its places if members are bound, or may have been let go to be.
func (s *State) Lower(above int32) (pods []*cluster.Pod, on []string) {
	for _, g := range s.lower(above) {
		for _, p := range g.those(func(p *member) bool { return p.stage != pending }) {
			pods, on = append(pods, p.pod), append(on, p.place)
		}
	}
	return pods, on
}

func (s *State) lower(above int32) []*group {
	return s.those(func(g *group) bool { return g.holds() && g.priority < above && g.recording == 0 && g.begun() == 0 })
}

func (e Outranked) apply(t *turn) { t.outrank(e.By, e.Priority, e.Nodes) }

// outrank denies the gangs of lower priority that have places on some nodes. It reports whether
// there were any.
func (t *turn) outrank(by string, above int32, nodes Nodes) bool {
	denied := false
	for _, g := range t.lower(above) {
		if len(g.those(func(p *member) bool { return p.stage != pending && nodes.Has(p.place) })) > 0 {
			t.deny(g, status.Unschedulable, fmt.Sprintf("its places were needed by %s, which has a higher priority", by), ErrOutranked)
			denied = true
		}
	}
	return denied
}

// Planned reports whether a pod counts on its node only since it was planned there: the scheduler
// has not bound it yet, and is not about to.
func (s *State) Planned(uid types.UID) bool {
	p := s.member(uid)
	return p != nil && p.waitsForCall()
}

// PlacesAlone reports whether a pod is placed for itself: it is of no gang, or of one that has started
// and has no place for it.
func (s *State) PlacesAlone(uid types.UID) bool {
	g := s.groupOf[uid]
	return g == nil || g.members[uid].stage == pending && s.hasStarted(g)
}
