package planner

import (
	"cmp"
	"math"
	"slices"

	"muster.dev/muster/cluster"
)

// Coalesce plans to empty nodes, as many as can be and at most so many, 0 for any number: all
// pods on them go to other nodes, but for those that stay with a node, as the pods of
// DaemonSets. Only nodes that among says are emptied, all of them when it is nil. Nothing goes
// to nodes that are empty already.
func (p *Problem) Coalesce(among func(*cluster.Node) bool, atMost int) *Plan {
	s := newSearch(p)
	if atMost <= 0 {
		atMost = math.MaxInt
	}
	candidates := s.occupied(among)
	proven := s.solve(func() { s.emptyMost(candidates, atMost) })
	plan := s.plan(proven)
	for _, node := range candidates {
		at := p.Snapshot.Node(node)
		if s.closed[node] {
			plan.Emptied = append(plan.Emptied, at)
		} else if refusal := s.kept[node]; refusal.Reason != "" {
			plan.Kept = append(plan.Kept, refusal)
		}
	}
	return plan
}

// Removal says of a node whether the cluster could do without it.
type Removal struct {
	Node *cluster.Node
	// Steps are what would bring its pods to other nodes; there are none for one that is
	// empty.
	Steps []Step
	// Refusal says why that cannot be; its Reason is "" when it can.
	Refusal Refusal
}

// Removable says of each node whether it could be removed, if no other one were. When time is
// up, the rest of the nodes is left out.
func (p *Problem) Removable(among func(*cluster.Node) bool) []Removal {
	s := newSearch(p)
	var removals []Removal
	for _, node := range s.nodes {
		at := p.Snapshot.Node(node)
		if among != nil && !among(at) {
			continue
		}
		if s.past() {
			break
		}
		proven := s.solve(func() {
			s.closed[node] = false // by an attempt before this one
			s.empty(node)
		})
		removal := Removal{Node: at, Refusal: s.kept[node]}
		if s.closed[node] {
			removal.Refusal, removal.Steps = Refusal{}, s.plan(proven).Steps
		}
		removals = append(removals, removal)
		s.back(0)
		s.closed[node], s.forsaken[node] = false, false
	}
	return removals
}

// occupied are the nodes that could be emptied, and closes those that are empty.
func (s *search) occupied(among func(*cluster.Node) bool) []int32 {
	var candidates []int32
	for _, node := range s.nodes {
		s.load(node)
		switch {
		case len(s.on[node]) == 0 && len(s.staying(node)) == 0:
			s.closed[node] = true
		case among == nil || among(s.problem.Snapshot.Node(node)):
			candidates = append(candidates, node)
		}
	}
	return candidates
}

// staying are the reasons of pods that keep a node from being emptied.
func (s *search) staying(node int32) []Detail {
	var details []Detail
	for reason, pods := range s.guarded[node] {
		if reason != ReasonDaemonSetPod && reason != ReasonMirrorPod { // these go with the node
			details = append(details, Detail{Reason: reason, Pods: pods})
		}
	}
	slices.SortFunc(details, func(a, b Detail) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
	})
	return details
}

// emptyMost empties nodes, those first on which there is the least. It tries other orders as
// well, as long as that pays.
func (s *search) emptyMost(candidates []int32, atMost int) {
	size := map[int32]float64{}
	for _, node := range candidates {
		s.closed[node] = false // by an attempt before this one
		for _, at := range s.on[node] {
			size[node] += s.items[at].size
		}
	}
	type outcome struct {
		at     map[int32]int32
		closed []bool
		count  int
		cost   int64
	}
	found := outcome{count: -1}
	open := slices.Clone(s.closed)
	const orders = 5 // in a row that do not pay
	for idle := 0; idle < orders && (idle == 0 || !s.past()); idle++ {
		order, count := slices.Clone(candidates), 0
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(size[a], size[b]) })
		for _, node := range order {
			if count < atMost && s.empty(node) {
				count++
			}
		}
		if count > found.count || count == found.count && s.cost < found.cost {
			found, idle = outcome{s.positions(), slices.Clone(s.closed), count, s.cost}, 0
		}
		s.back(0)
		copy(s.closed, open)
		for node := range size {
			size[node] *= 0.75 + s.random.Float64()/2
		}
	}
	s.restore(found.at)
	copy(s.closed, found.closed)
}

// empty finds other places for all pods of a node, or says why not.
func (s *search) empty(node int32) bool {
	s.load(node)
	refusal := Refusal{Name: s.problem.Snapshot.Node(node).Name}
	switch refusal.Details = s.staying(node); {
	case len(refusal.Details) > 0:
		refusal.Reason = ReasonPodsStay
	case slices.ContainsFunc(s.on[node], func(at int32) bool { return s.items[at].origin != node }):
		refusal.Reason = ReasonReceives
	case s.forsaken[node] || !s.vacate(node):
		refusal.Reason = ReasonNoOtherPlace
	default:
		return true
	}
	s.kept[node] = refusal
	return false
}

// vacate finds other places for all pods of a node.
func (s *search) vacate(node int32) bool {
	before := len(s.log)
	s.closed[node] = true
	var ejected []int32
	for _, at := range slices.Clone(s.on[node]) {
		if s.items[at].at != node {
			continue // gone with its gang
		}
		if !s.eject(s.items[at].unit, math.MaxInt32, &ejected) {
			s.back(before)
			s.closed[node] = false
			return false
		}
	}
	if s.settle(ejected, s.limits.Hops-1, math.MaxInt32) {
		if _, ok := s.sequence(); ok {
			return true
		}
	}
	s.back(before)
	s.closed[node] = false
	return false
}
