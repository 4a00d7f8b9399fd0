package planner

import (
	"cmp"
	"math"
	"slices"

	"muster.dev/muster/cluster"
)

// clearing empties nodes, and remembers why others cannot be.
type clearing struct {
	*state

	roster    *roster
	insertion *insertion
	audit     *audit
	dice      *dice
	watch     *stopwatch
	forsaken  []bool            // by node index: nothing that would empty it could be proven
	kept      map[int32]Refusal // nodes that could not be emptied
}

func newClearing(s *search) *clearing {
	return &clearing{
		state: s.state, roster: s.roster, insertion: s.insertion, audit: s.audit, dice: s.dice, watch: s.watch,
		forsaken: make([]bool, len(s.closed)), kept: map[int32]Refusal{},
	}
}

// occupied returns the nodes that could be emptied, and closes nodes that are empty or become so by themselves.
func (c *clearing) occupied(among func(*cluster.Node) bool) []int32 {
	var candidates []int32
	for _, node := range c.nodes {
		c.roster.load(node)
		switch {
		case len(c.on[node]) == 0 && len(c.roster.staying(node)) == 0:
			c.closed[node] = true
		case among(c.roster.snap.Node(node)):
			candidates = append(candidates, node)
		}
	}
	return candidates
}

// emptyMost empties nodes, those first on which there is the least. It tries other orders as
// well, as long as that pays.
func (c *clearing) emptyMost(candidates []int32, atMost int) {
	size := map[int32]float64{}
	for _, node := range candidates {
		c.closed[node] = false // by an attempt before this one
		for _, at := range c.on[node] {
			size[node] += c.items[at].size
		}
	}
	type outcome struct {
		at     map[int32]int32
		closed []bool
		count  int
		cost   int64
	}
	found := outcome{count: -1}
	open := slices.Clone(c.closed)
	const orders = 5 // in a row that do not pay
	for idle := 0; idle < orders && (idle == 0 || !c.watch.past()); idle++ {
		order, count := slices.Clone(candidates), 0
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(size[a], size[b]) })
		for _, node := range order {
			if count < atMost && c.empty(node) {
				count++
			}
		}
		if count > found.count || count == found.count && c.cost < found.cost {
			found, idle = outcome{c.positions(), slices.Clone(c.closed), count, c.cost}, 0
		}
		c.back(0)
		copy(c.closed, open)
		for _, node := range candidates {
			size[node] *= 0.75 + c.dice.Float64()/2
		}
	}
	c.restore(found.at)
	copy(c.closed, found.closed)
}

// empty finds other places for all pods of a node, or notes why not.
func (c *clearing) empty(node int32) bool {
	c.roster.load(node)
	refusal := Refusal{Name: c.roster.snap.Node(node).Name, Reason: Keeps(c.roster.snap.Node(node))}
	if refusal.Reason != "" {
		c.kept[node] = refusal
		return false
	}
	switch refusal.Details = c.roster.staying(node); {
	case len(refusal.Details) > 0:
		refusal.Reason = ReasonPodsStay
	case slices.ContainsFunc(c.on[node], func(at int32) bool { return c.items[at].origin != node }):
		refusal.Reason = ReasonReceives
	case c.forsaken[node] || !c.vacate(node):
		refusal.Reason = ReasonNoOtherPlace
	default:
		return true
	}
	c.kept[node] = refusal
	return false
}

// vacate closes nodes and finds other places for all pods on them, of all or of none.
func (c *clearing) vacate(nodes ...int32) bool {
	before := len(c.log)
	for _, node := range nodes {
		c.closed[node] = true
	}
	if ejected, ok := c.ejectAll(nodes); ok && c.insertion.placeAll(ejected, c.insertion.hops-1, math.MaxInt32) {
		if _, ok := c.audit.sequence(); ok {
			return true
		}
	}
	c.back(before)
	for _, node := range nodes {
		c.closed[node] = false
	}
	return false
}

// ejectAll takes all pods off nodes. When it reports false, it may have taken some.
func (c *clearing) ejectAll(nodes []int32) (ejected []int32, ok bool) {
	for _, node := range nodes {
		for _, at := range slices.Clone(c.on[node]) {
			if c.items[at].at != node {
				continue // gone with its gang
			}
			if !c.insertion.eject(c.items[at].unit, math.MaxInt32, &ejected) {
				return ejected, false
			}
		}
	}
	return ejected, true
}

// giveUp opens for good the nodes of a wake that were to become empty; all such nodes when all is set.
func (c *clearing) giveUp(all bool, w wake) {
	for _, node := range c.nodes {
		staying := len(c.roster.guarded[node]) + len(c.roster.snap.Node(node).Pods) - len(c.leaving.pods[node])
		if c.closed[node] && staying > 0 && (all || w.nodes.Has(node)) {
			c.closed[node], c.forsaken[node] = false, true
		}
	}
}

// Coalesce returns a plan that empties every node it can, at most atMost of them (0 means no limit). All pods on these
// nodes move elsewhere, except pods that stay with a node, such as pods of DaemonSets. A node is emptied only if among
// returns true for it; a nil among allows every node. No pod moves to a node that is already empty.
func (p *Problem) Coalesce(among func(*cluster.Node) bool, atMost int) *Plan {
	s := newSearch(p, nil)
	clearing := newClearing(s)
	if atMost <= 0 {
		atMost = math.MaxInt
	}
	candidates := clearing.occupied(orAll(among))
	proven := s.solve(func() { clearing.emptyMost(candidates, atMost) }, clearing.giveUp)
	plan := s.author.plan(proven, nil)
	for _, node := range candidates {
		at := p.Snapshot.Node(node)
		if s.closed[node] {
			plan.Emptied = append(plan.Emptied, at)
		} else if refusal := clearing.kept[node]; refusal.Reason != "" {
			plan.Kept = append(plan.Kept, refusal)
		}
	}
	return plan
}

// orAll returns among, or what allows every node.
func orAll(among func(*cluster.Node) bool) func(*cluster.Node) bool {
	if among == nil {
		return func(*cluster.Node) bool { return true }
	}
	return among
}

// Removal says of a node whether the cluster could do without it.
type Removal struct {
	Node *cluster.Node
	// Steps are the steps that would bring its pods to other nodes; an empty node has none.
	Steps []Step
	// Refusal says why that cannot be; its Reason is "" when it can.
	Refusal Refusal
}

// Removable says of each node whether it could be removed, if no other one were. When time is
// up, the rest of the nodes is left out.
func (p *Problem) Removable(among func(*cluster.Node) bool) []Removal {
	s, allowed := newSearch(p, nil), orAll(among)
	clearing := newClearing(s)
	var removals []Removal
	for _, node := range s.nodes {
		at := p.Snapshot.Node(node)
		if !allowed(at) {
			continue
		}
		if s.watch.past() {
			break
		}
		proven := s.solve(func() {
			s.closed[node] = false // by an attempt before this one
			clearing.empty(node)
		}, clearing.giveUp)
		removal := Removal{Node: at, Refusal: clearing.kept[node]}
		if s.closed[node] {
			removal.Refusal, removal.Steps = Refusal{}, s.author.plan(proven, nil).Steps
		}
		removals = append(removals, removal)
		s.back(0)
		s.closed[node], clearing.forsaken[node] = false, false
	}
	return removals
}
