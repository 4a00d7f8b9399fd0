package planner

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// relief has pods leave nodes that bear too much.
type relief struct {
	*state

	roster     *roster
	homes      *homes
	evictions  *evictions
	departures *departures
	rehearsal  *rehearsal
	standings  *standings
	savings    *savings
}

func newRelief(s *search, departures *departures) *relief {
	return &relief{
		state: s.state, roster: s.roster, homes: s.homes, evictions: s.evictions, departures: departures, rehearsal: s.rehearsal,
		standings: s.standings, savings: s.savings,
	}
}

// burdened reports whether a node bears too much, also once those have gone that leave by themselves.
func (f *relief) burdened(node int32) bool {
	return slices.ContainsFunc(f.laterAt(node)[f.plain():], func(free int64) bool { return free < 0 })
}

// relieve has pods leave a node, first sets of them that suffice, and else what can.
func (f *relief) relieve(r *Relief) {
	node := r.Node.Index
	if f.roster.load(node); !f.burdened(node) {
		return
	}
	candidates := f.burdens(node)
	for at := range candidates {
		if at+1 < len(candidates) && f.rank(candidates[at].unit) == f.rank(candidates[at+1].unit) {
			continue // all of a rank together
		}
		c := chooser{node: node, lacks: f.excess(node), candidates: slices.Clone(candidates[:at+1])}
		for _, found := range c.choose() {
			if f.leave(found.units, r) {
				f.spare(found.units, r)
				return
			}
		}
	}
	f.relievePartly(candidates, r)
}

// relievePartly has pods leave a node one by one.
func (f *relief) relievePartly(candidates []candidate, r *Relief) {
	var left []int32
	for _, c := range candidates {
		if f.burdened(r.Node.Index) && f.leave([]int32{c.unit}, r) {
			left = append(left, c.unit)
		}
	}
	f.spare(left, r)
}

// spare brings those units home that need not have left a node, the last ones first: a later one, or one that
// moved to make room for them, may have relieved it enough.
func (f *relief) spare(left []int32, r *Relief) {
	for _, unit := range slices.Backward(left) {
		before, wishes := len(f.log), len(f.departures.wishes)
		i := &f.items[f.roster.units[unit].items[0]]
		w := i.wish
		i.wish = nil
		f.wantAway(r, unit)
		if f.homes.bringHome(unit) {
			f.savings.letStay() // pods that have moved for it
			continue
		}
		f.back(before)
		f.departures.forget(wishes)
		i.wish = w
	}
}

// wantAway adds wishes for units that have left a node by the way, except one: from now on they relieve the
// node.
func (f *relief) wantAway(r *Relief, but int32) {
	for _, at := range f.gone {
		if i := &f.items[at]; i.origin == r.Node.Index && i.unit != but && !f.roster.wished(i) {
			f.departures.want(at, r.Why)
		}
	}
}

// excess returns what a node bears too much.
func (f *relief) excess(node int32) amounts {
	excess := make(amounts, f.dims)
	for d, free := range f.laterAt(node) {
		if d >= f.plain() {
			excess[d] = max(0, -free)
		}
	}
	return excess
}

// burdens returns the units whose leaving relieves a node, by rank: those first of each that do so
// the most for what they cost.
func (f *relief) burdens(node int32) []candidate {
	excess := f.excess(node)
	var found []candidate
	seen := sets.New[int32]()
	for _, at := range f.on[node] {
		unit := f.items[at].unit
		if f.items[at].pending() || seen.Has(unit) || f.items[at].away() || !f.roster.movable(unit, math.MaxInt32) {
			continue
		}
		seen.Insert(unit)
		if c := f.evictions.candidate(unit, node, excess); c.worth > 0 {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(f.rank(a.unit).compare(f.rank(b.unit)), cmp.Compare(b.worth/float64(b.cost+1), a.worth/float64(a.cost+1)))
	})
	return found
}

// leave has units leave a node, all of them or none.
func (f *relief) leave(units []int32, r *Relief) bool {
	before, wishes := len(f.log), len(f.departures.wishes)
	for _, unit := range units {
		first := f.roster.units[unit].items[0]
		if f.departures.want(first, r.Why); !f.departures.grant(first) {
			f.back(before)
			f.departures.forget(wishes)
			return false
		}
	}
	return true
}

// rank orders the pods that leave a node: the lower ones first.
type rank struct {
	tier     int // 0 for best effort
	priority int32
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.priority, b.priority))
}

// rank returns the highest of the pods of a unit.
func (f *relief) rank(unit int32) rank {
	var highest rank
	for n, member := range f.roster.units[unit].items {
		i := &f.items[member]
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

// refuse returns why a node bears too much still: no other node is a target for any pod that might leave it, else too few
// pods might. hot are the nodes that are relieved.
func (f *relief) refuse(node *cluster.Node, hot sets.Set[int32]) Refusal {
	r := Refusal{Name: node.Name, Reason: ReasonTooLittle, Details: f.roster.staying(node.Index)}
	var against []Detail // for the first of them
	for n, c := range f.burdens(node.Index) {
		for _, member := range f.roster.units[c.unit].items {
			if f.items[member].at != node.Index {
				continue
			}
			details, some := f.targets(&f.items[member], hot)
			if some {
				return r
			}
			if n == 0 && against == nil {
				against = details
			}
		}
	}
	if against != nil {
		r.Reason, r.Details = ReasonNoTarget, append(against, r.Details...)
	}
	return r
}

// targets counts the other nodes by what is against a pod there, with all that is planned. It reports whether there is one
// that nothing is against.
func (f *relief) targets(i *item, hot sets.Set[int32]) (against []Detail, some bool) {
	counts := map[string]int{}
	for _, node := range f.nodes {
		if node == i.at {
			continue
		}
		why := f.against(i, node, hot)
		if why == "" {
			return nil, true
		}
		counts[why]++
	}
	against = make([]Detail, 0, len(counts)) // not nil where there is no other node
	for reason, nodes := range counts {
		against = append(against, Detail{Reason: reason, Nodes: nodes})
	}
	slices.SortFunc(against, func(a, b Detail) int { return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason)) })
	return against, false
}

// against says why a node is no target for an item, "" when it is one.
func (f *relief) against(i *item, node int32, hot sets.Set[int32]) string {
	switch {
	case f.noTarget[node] != "":
		return f.noTarget[node]
	case hot.Has(node):
		return ReasonHotItself
	case !f.homes.admits(i, node):
		return ReasonNotEligible
	}
	switch f.standings.of(i, node) {
	case never:
		return f.rehearsal.hopeless(i, node)
	case taken:
		return f.rehearsal.objects(i, node)
	case open, unasked:
	}
	lacks := make(amounts, f.dims) // with what is planned
	i.needs.short(f.freeAt(node), lacks)
	for d, lack := range lacks {
		switch {
		case lack > 0 && d < f.plain():
			return ReasonTargetRoom
		case lack > 0:
			return ReasonTargetLoad
		}
	}
	return ""
}

// Relief is a node that is to bear less.
type Relief struct {
	Node *cluster.Node // of the snapshot
	// Why says in words why pods leave it.
	Why string
}

// Relieve plans to move pods off nodes until these bear no more than they should, by the Load of the problem,
// which is required: the first nodes first. Nothing goes to any of them. Pods of higher priority stay while
// enough of lower priority can leave, any others while enough of best effort can; for the rest, no more leave
// than must. Each gets the place that the scores of its profile prefer, among the places with room for it and
// its load. Where not enough can leave, all leave that can.
func (p *Problem) Relieve(nodes []Relief) *Plan {
	among := sets.New[int32]()
	for _, r := range nodes {
		among.Insert(r.Node.Index)
	}
	relieved, bars := *p, p.bars()
	relieved.Bars = func(pod *cluster.Pod, node *cluster.Node) bool { return among.Has(node.Index) || bars(pod, node) }
	s := newSearch(&relieved, nil)
	departures := newDepartures(s, nil)
	relief := newRelief(s, departures)
	proven := s.solve(func() {
		departures.forget(0) // wishes of an attempt before this one
		for at := range nodes {
			relief.relieve(&nodes[at])
		}
	}, departures.giveUp)
	plan := s.author.plan(proven, departures.wishes)
	for _, r := range nodes {
		if relief.burdened(r.Node.Index) {
			plan.Kept = append(plan.Kept, relief.refuse(r.Node, among))
		}
	}
	return plan
}
