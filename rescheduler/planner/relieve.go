package planner

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// Relief is a node that is to bear less.
type Relief struct {
	Node *cluster.Node // of the snapshot
	// Why says in words why pods leave it.
	Why string
}

// Relieve plans to move pods off nodes until these bear no more than they should, by the Load
// of the problem, which is required: the first nodes first. Nothing goes to any of them. Pods of
// higher priority stay while enough of lower priority can leave, any others while enough of
// best effort can; for the rest, as few leave as can be. Each gets the place that the scores of its profile prefer, of
// those with room for it and its load. Where not enough can leave, as much leaves as can.
func (p *Problem) Relieve(nodes []Relief) *Plan {
	among := sets.New[int32]()
	for _, r := range nodes {
		among.Insert(r.Node.Index)
	}
	relieved := *p
	relieved.Bars = func(pod *cluster.Pod, node *cluster.Node) bool {
		return among.Has(node.Index) || p.Bars != nil && p.Bars(pod, node)
	}
	s := newSearch(&relieved)
	proven := s.solve(func() {
		s.forgetWishes() // of an attempt before this one
		for at := range nodes {
			s.relieve(&nodes[at])
		}
	})
	plan := s.plan(proven)
	for _, r := range nodes {
		if s.burdened(r.Node.Index) {
			plan.Kept = append(plan.Kept, Refusal{Name: r.Node.Name, Reason: ReasonTooLittle, Details: s.staying(r.Node.Index)})
		}
	}
	return plan
}

func (s *search) forgetWishes() {
	for _, w := range s.wishes {
		s.items[w.item].wish = nil
	}
	s.wishes = nil
}

// burdened says that a node bears too much.
func (s *search) burdened(node int32) bool {
	return slices.ContainsFunc(s.freeAt(node)[s.plain():], func(free int64) bool { return free < 0 })
}

// relieve has pods leave a node, first sets of them that suffice, and else what can.
func (s *search) relieve(r *Relief) {
	node := r.Node.Index
	if s.load(node); !s.burdened(node) {
		return
	}
	candidates := s.burdens(node)
	for at := range candidates {
		if at+1 < len(candidates) && s.rank(candidates[at].unit) == s.rank(candidates[at+1].unit) {
			continue // all of a rank together
		}
		c := chooser{search: s, node: node, lacks: s.excess(node), candidates: slices.Clone(candidates[:at+1])}
		for _, found := range c.choose() {
			if s.leave(found.units, r) {
				return
			}
		}
	}
	s.relievePartly(candidates, r)
}

// relievePartly has pods leave a node one by one.
func (s *search) relievePartly(candidates []candidate, r *Relief) {
	var left []int32
	for _, c := range candidates {
		if s.burdened(r.Node.Index) && s.leave([]int32{c.unit}, r) {
			left = append(left, c.unit)
		}
	}
	for _, unit := range slices.Backward(left) { // the last may have made an earlier one needless
		i := &s.items[s.units[unit].items[0]]
		w := i.wish
		if i.wish = nil; !s.bringHome(unit) {
			i.wish = w
		}
	}
}

// excess is what a node bears too much.
func (s *search) excess(node int32) amounts {
	excess := make(amounts, s.dims)
	for d, free := range s.freeAt(node) {
		if d >= s.plain() {
			excess[d] = max(0, -free)
		}
	}
	return excess
}

// burdens are the units whose leaving relieves a node, by rank: those first of each that do so
// the most for what they cost.
func (s *search) burdens(node int32) []candidate {
	excess := s.excess(node)
	var found []candidate
	seen := sets.New[int32]()
	for _, at := range s.on[node] {
		unit := s.items[at].unit
		if s.items[at].pending() || seen.Has(unit) || s.items[at].away() || !s.movable(unit, math.MaxInt32) {
			continue
		}
		seen.Insert(unit)
		if c := s.candidate(unit, node, excess); c.worth > 0 {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(s.rank(a.unit).compare(s.rank(b.unit)), cmp.Compare(b.worth/float64(b.cost+1), a.worth/float64(a.cost+1)))
	})
	return found
}

// leave has units leave a node, all of them or none.
func (s *search) leave(units []int32, r *Relief) bool {
	before, wishes := len(s.log), len(s.wishes)
	for _, unit := range units {
		first := s.units[unit].items[0]
		w := &wish{Wish: &Wish{Pod: s.items[first].pod, Why: r.Why}, item: first, open: true}
		s.items[first].wish, s.wishes = w, append(s.wishes, w)
		if !s.grant(first) {
			s.back(before)
			for _, w := range s.wishes[wishes:] {
				s.items[w.item].wish = nil
			}
			s.wishes = s.wishes[:wishes]
			return false
		}
	}
	return true
}

// rank says who leaves a node first: the lower ones.
type rank struct {
	tier     int // 0 for best effort
	priority int32
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.priority, b.priority))
}

// rank is the highest of the pods of a unit.
func (s *search) rank(unit int32) rank {
	var highest rank
	for n, member := range s.units[unit].items {
		i := &s.items[member]
		of := rank{tier: 1, priority: i.limit}
		if i.pod.Status.QOSClass == corev1.PodQOSBestEffort {
			of.tier = 0
		}
		if n == 0 || highest.compare(of) < 0 {
			highest = of
		}
	}
	return highest
}
