package planner

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
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

// giveUp withdraws the groups and the wishes, and opens the nodes, for which items move; all of
// them when there are none.
func (s *search) giveUp(objected []int32) {
	w := s.wakeOf(objected...)
	all := len(objected) == 0
	for at := range s.groups {
		g := &s.groups[at]
		if all || slices.ContainsFunc(g.items, w.pending.Has) {
			g.givenUp = true
			s.withdraw(g)
		}
	}
	for _, wish := range s.wishes {
		wish.givenUp = wish.givenUp || all || w.leaving.Has(wish.item)
	}
	for _, node := range s.nodes {
		if s.closed[node] && len(s.guarded[node])+len(s.problem.Snapshot.Node(node).Pods) > 0 && (all || w.nodes.Has(node)) {
			s.closed[node], s.forsaken[node] = false, true
		}
	}
	s.letStay()
	if all {
		s.back(0)
	}
}

// wake is all that items move for.
type wake struct {
	pending sets.Set[int32] // items
	leaving sets.Set[int32] // items that there is a wish for
	nodes   sets.Set[int32] // that others leave
}

// wakeOf is what items move for, directly or by way of others.
func (s *search) wakeOf(items ...int32) wake {
	w := wake{pending: sets.New[int32](), leaving: sets.New[int32](), nodes: sets.New[int32]()}
	for _, at := range items {
		s.follow(at, w)
	}
	return w
}

func (s *search) follow(at int32, w wake) {
	i := &s.items[at]
	if i.pending() {
		w.pending.Insert(at)
		return
	}
	for _, member := range s.units[i.unit].items {
		if s.items[member].wish != nil {
			w.leaving.Insert(member)
		}
		node := s.items[member].origin
		if w.nodes.Has(node) {
			continue
		}
		w.nodes.Insert(node)
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
	needs := s.needs(pod, nil)
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
	for _, w := range s.wishes {
		if w.item < 0 || !s.items[w.item].away() && !w.moot {
			p.Unmoved = append(p.Unmoved, s.deny(w))
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
