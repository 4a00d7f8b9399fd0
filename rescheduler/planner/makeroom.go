package planner

import (
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

// attempts is how often a search begins anew because predicates objected.
const attempts = 8

// MakeRoom plans places for pending groups, and what has to move for that. As many pods as
// can be get a place, those of the highest priority first, at the least cost. Pods that have
// room anyway get their places without a step.
func (p *Problem) MakeRoom(groups []Group) *Plan {
	s := newSearch(p)
	s.admit(groups)
	proven := s.solve(func() {
		s.construct()
		s.improve()
	})
	return s.plan(proven)
}

// solve searches until the predicates agree, and leaves the state as it is planned.
func (s *search) solve(find func()) (proven []int32) {
	for attempt := 1; ; attempt++ {
		find()
		for {
			order, ok := s.sound()
			if !ok {
				s.giveUp(nil)
				continue
			}
			var objected []int32
			if proven, objected = s.prove(order); objected == nil {
				return proven
			}
			for _, at := range objected {
				s.forbid(&s.items[at], s.items[at].at)
			}
			if attempt < attempts && !s.past() {
				break
			}
			s.giveUp(objected)
		}
		s.back(0)
	}
}

// giveUp withdraws the groups, and opens the nodes, for which items move; all of them when
// there are none.
func (s *search) giveUp(objected []int32) {
	w := wake{groups: map[int32]bool{}, nodes: map[int32]bool{}}
	for _, at := range objected {
		s.follow(at, &w)
	}
	all := len(w.groups)+len(w.nodes) == 0
	for at := range s.groups {
		if g := &s.groups[at]; all || w.groups[int32(at)] {
			g.givenUp = true
			s.withdraw(g)
		}
	}
	for _, node := range s.nodes {
		if s.closed[node] && len(s.guarded[node])+len(s.problem.Snapshot.Node(node).Pods) > 0 && (all || w.nodes[node]) {
			s.closed[node], s.forsaken[node] = false, true
		}
	}
	s.letStay()
	if all {
		s.back(0)
	}
}

// wake is all that an item moves for.
type wake struct {
	groups map[int32]bool
	nodes  map[int32]bool // that others leave
}

// follow adds what an item moves for, or is of.
func (s *search) follow(at int32, w *wake) {
	i := &s.items[at]
	if i.pending() {
		w.groups[i.group] = true
		return
	}
	for _, member := range s.units[i.unit].items {
		node := s.items[member].origin
		if w.nodes[node] {
			continue
		}
		w.nodes[node] = true
		for _, other := range s.on[node] {
			if o := &s.items[other]; o.pending() || o.away() {
				s.follow(other, w)
			}
		}
	}
}

// addPending makes an item of a pending pod.
func (s *search) addPending(pod *cluster.Pod, group int32) int32 {
	at := int32(len(s.items)) //nolint:gosec // no more than there are pods
	needs := amountsOf(&pod.Requests, 1, s.dims)
	i := item{
		pod: pod, needs: needs, origin: -1, at: -1, kind: -1, unit: -1, group: group,
		limit: corev1helpers.PodPriority(pod.Pod), size: s.rates.size(needs),
	}
	s.kindOf(&i)
	s.items = append(s.items, i)
	return at
}

// plan puts in words what was found.
func (s *search) plan(proven []int32) *Plan {
	snap := s.problem.Snapshot
	p := &Plan{Generation: snap.Generation, Cost: s.cost, Late: s.late}
	placements := map[int32]int{}
	for _, at := range proven {
		if i := &s.items[at]; i.pending() {
			placements[at] = len(p.Placements)
			p.Placements = append(p.Placements, Placement{
				Pod: i.pod, Node: snap.Node(i.at), Group: s.groups[i.group].Name, After: len(p.Steps),
			})
			continue
		}
		p.Steps = append(p.Steps, s.step(at))
	}
	s.attribute(p, proven, placements)
	for g := range s.groups {
		if group := &s.groups[g]; s.count(group) < max(1, group.AtLeast) {
			p.Unplaced = append(p.Unplaced, s.refuse(group))
		}
	}
	p.Took = s.problem.Clock.Since(s.now)
	return p
}

func (s *search) step(at int32) Step {
	i := &s.items[at]
	snap := s.problem.Snapshot
	return Step{
		Pod: i.pod, From: snap.Node(i.origin), To: snap.Node(i.at), Replacement: i.anew,
		Gang: s.units[i.unit].gang, Cost: i.cost,
	}
}
