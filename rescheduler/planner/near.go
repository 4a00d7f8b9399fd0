package planner

import (
	"cmp"
	"fmt"
	"slices"

	"muster.dev/muster/gang/membership"
)

// Near says that all pods of a group that get a place have to be in one domain of a level of the network.
type Near struct {
	Key     string // of the label that makes the level, "" for nodes
	Domains []Domain
	// Preferred says that the pods may be anywhere, and are in one domain if that costs no more.
	Preferred bool
}

// Domain is the nodes with one value of a label.
type Domain struct {
	Name  string
	Nodes []int32 // indexes of the snapshot
}

// near returns the domains that the members of a gang may be in, nil if these may be anywhere. Beside members that are there already
// they have no choice.
func (l *lineup) near(key membership.Key) *Near {
	spec := l.specs[key]
	t := membership.Along(spec.Policy.Topology, l.snap)
	level := cmp.Or(t.Required, t.Preferred)
	if level == 0 {
		return nil
	}
	n := &Near{Preferred: t.Required == 0}
	if level <= len(t.Levels) {
		n.Key = t.Levels[level-1]
	}
	at, of := map[string]int{}, map[int32]string{}
	for node := range l.snap.Nodes() {
		name, is := membership.DomainOf(&t, level, node)
		if !is {
			continue
		}
		of[node.Index] = name
		if _, known := at[name]; !known {
			at[name], n.Domains = len(n.Domains), append(n.Domains, Domain{Name: name})
		}
		d := &n.Domains[at[name]]
		d.Nodes = append(d.Nodes, node.Index)
	}
	if !spec.InBatches() {
		for _, node := range l.there[key] {
			name, is := of[node]
			n.Domains = slices.DeleteFunc(n.Domains, func(d Domain) bool { return !is || d.Name != name })
		}
	}
	return n
}

// vicinity is where the pods of a group may be, in a search.
type vicinity struct {
	*Near
	*state

	items   []int32
	of      []int32 // by node index: the domain, -1 for none
	only    int32   // the domain that is tried, -1 for none in particular
	dropped []bool  // domains in which nothing that was planned could be proven
	again   bool    // one was dropped since the last attempt
	able    []target
	lacks   []int // by domain: for how many pods of the group it had too little room
}

func newVicinity(s *state, near *Near, items []int32) *vicinity {
	v := &vicinity{
		Near: near, state: s, items: items, of: make([]int32, len(s.on)), only: -1,
		dropped: make([]bool, len(near.Domains)), lacks: make([]int, len(near.Domains)),
	}
	for i := range v.of {
		v.of[i] = -1
	}
	for d := range near.Domains {
		for _, node := range near.Domains[d].Nodes {
			v.of[node] = int32(d)
		}
	}
	return v
}

// takes reports whether a pod of the group may come to a node: to any where there is no vicinity, else to the domain of the others.
func (v *vicinity) takes(node int32) bool { return v == nil || v.admits()(node) }

// admits returns what takes reports of each node while no pod of the group moves.
func (v *vicinity) admits() func(node int32) bool {
	switch {
	case v == nil, v.only < 0 && v.Preferred:
		return func(int32) bool { return true }
	case v.only >= 0:
		return func(node int32) bool { return v.of[node] == v.only }
	}
	home := v.home()
	return func(node int32) bool { return v.of[node] >= 0 && (home < 0 || home == v.of[node]) }
}

// home returns the domain of the first pod that has a place, -1 for none.
func (v *vicinity) home() int32 {
	for _, at := range v.items {
		if node := v.state.items[at].at; node >= 0 {
			return v.of[node]
		}
	}
	return -1
}

// drop gives up the domain of the group for good. It reports false where the group has no other one to try.
func (v *vicinity) drop() bool {
	if v == nil || v.Preferred || v.home() < 0 {
		return false
	}
	v.dropped[v.home()] = true
	v.again = slices.Contains(v.dropped, false)
	return v.again
}

// lacking says in words what a domain lacked for the group, as in "r7 by example.com/rack lacks room for 2 of its pods".
func (v *vicinity) lacking(domain int32) string {
	name := v.Domains[domain].Name
	if v.Key != "" {
		name += " by " + v.Key
	}
	return fmt.Sprintf("%s lacks room for %d of its pods", name, v.lacks[domain])
}

// freed says in words what the domain of the group lacked and how many moves free it, "" where it lacked nothing.
func (v *vicinity) freed(moves int) string {
	if v == nil || moves == 0 {
		return ""
	}
	home := v.home()
	switch {
	case home < 0 || v.lacks[home] == 0:
		return ""
	case moves == 1:
		return "; " + v.lacking(home) + ", and one move frees it"
	default:
		return fmt.Sprintf("; %s, and %d moves free it", v.lacking(home), moves)
	}
}

// refuse enters why a group gets no place that has to be in one domain.
func (v *vicinity) refuse(r *Refusal) {
	if v == nil || v.Preferred || r.Reason == ReasonUnknownScheduler || r.Reason == ReasonLate {
		return
	}
	r.Reason = ReasonNoDomain
	why := "no node has the labels, and is where its other pods are"
	if len(v.lacks) > 0 {
		nearest := slices.Index(v.lacks, slices.Min(v.lacks))
		why = v.lacking(int32(nearest)) //nolint:gosec // no more than there are nodes
	}
	r.Details = append([]Detail{{Reason: why}}, r.Details...)
}

// target is a domain that could have a group if all pods moved that may.
type target struct {
	domain int32
	least  int64 // it costs no less
	lacks  int
}

// targets returns the domains that may have the pods of a group that lack a place, those first that may cost the least.
func (p *placing) targets(g *group) (able []target) {
	need, missing, examples := p.leastNeeds(g), g.AtLeast-p.queue.count(g), p.examples(g)
	for d := range g.near.Domains {
		if g.near.dropped[d] {
			continue
		}
		free, all, victims := 0, 0, []int64{}
		most := 1 // that one victim leaves room for
		for _, node := range g.near.Domains[d].Nodes {
			if !p.usable(examples, node) {
				continue
			}
			p.roster.load(node)
			room := slices.Clone(p.laterAt(node))
			free += need.times(room)
			for _, at := range p.on[node] {
				if o := &p.items[at]; !o.pending() && (o.limit <= g.priority() || p.roster.rules.AllowHigherPriority) {
					o.needs.gather(room)
					most, victims = max(most, need.gain(o.needs)), append(victims, o.expense())
				}
			}
			all += need.times(room)
		}
		t := target{domain: int32(d), lacks: max(0, missing-free)}
		if g.near.lacks[d] = t.lacks; all < missing {
			continue
		}
		slices.Sort(victims)
		for _, cost := range victims[:min(len(victims), (t.lacks+most-1)/most)] {
			t.least += cost
		}
		able = append(able, t)
	}
	slices.SortStableFunc(able, func(a, b target) int { return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.lacks, b.lacks)) })
	return able
}

// leastNeeds returns of each resource the least that a pod of a group needs.
func (p *placing) leastNeeds(g *group) amounts {
	need := slices.Clone(p.items[g.items[0]].needs)
	for _, at := range g.items[1:] {
		for d, asked := range p.items[at].needs {
			need[d] = min(need[d], asked)
		}
	}
	return need
}

// examples returns a pod of each kind in a group, none if there are more than a few kinds.
func (p *placing) examples(g *group) (examples []int32) {
	const few = 4
	known := map[int32]bool{}
	for _, at := range g.items {
		if p.roster.kinds.kindOf(&p.items[at]); known[p.items[at].kind] {
			continue
		}
		if known[p.items[at].kind] = true; len(known) > few {
			return nil
		}
		examples = append(examples, at)
	}
	return examples
}

// usable reports whether a node may be one for a pod like one of some.
func (p *placing) usable(examples []int32, node int32) bool {
	return !p.closed[node] && p.noTarget[node] == "" && (len(examples) == 0 || slices.ContainsFunc(examples, func(at int32) bool {
		return p.insertion.homes.standings.of(&p.items[at], node) != never
	}))
}

// mostDomains bounds the domains that are tried for a group in one attempt.
const mostDomains = 64

// placeNear finds places in one domain for all members of a group that have none, or for none of them: in the domain where that
// costs least. Where parts of a plan are built again, it tries one domain alone.
func (p *placing) placeNear(g *group) {
	defer func() { g.near.only = -1 }()
	if home := g.near.home(); home >= 0 && !g.near.Preferred {
		p.placeMembers(g)
		return
	}
	if p.dice.noise > 0 {
		if g.near.only = p.anyDomain(g); g.near.only >= 0 || g.near.Preferred {
			p.placeMembers(g)
		}
		return
	}
	if best := p.bestDomain(g); best != nil {
		p.restore(best.at)
	}
}

// anyDomain draws one of the domains that may cost the least, -1 for anywhere or for none.
func (p *placing) anyDomain(g *group) int32 {
	able := g.near.able
	if len(able) == 0 || g.near.Preferred && p.dice.IntN(2) > 0 {
		return -1
	}
	return able[p.dice.IntN(min(len(able), 4))].domain
}

// bestDomain returns the places in the domain where that costs least, nil if there is none.
func (p *placing) bestDomain(g *group) (best *layout) {
	if g.near.Preferred {
		best = p.tryDomain(g, -1)
	}
	before, until := p.cost, p.watch.share(p.queue.nearLeft())
	g.near.able = p.targets(g)
	for i, t := range g.near.able {
		least := before + t.least
		if best != nil && best.placed == len(g.items) && (best.cost < least || best.cost == least && !best.anywhere) {
			break
		}
		if i == mostDomains || i > 0 && !p.watch.clock.Now().Before(until) || p.watch.past() {
			break
		}
		if found := p.tryDomain(g, t.domain); found.over(best) {
			best = found
		}
	}
	return best
}

// tryDomain finds places for a group in a domain, -1 for anywhere, as cheaply as it can, and takes that back; nil when it cannot.
func (p *placing) tryDomain(g *group, domain int32) (found *layout) {
	before := len(p.log)
	g.near.only = domain
	if p.placeMembers(g); len(p.log) > before {
		p.savings.letStay()
		if _, ok := p.audit.sound(); ok && p.queue.count(g) >= g.AtLeast {
			found = &layout{at: p.positions(), cost: p.cost, placed: p.queue.count(g), anywhere: domain < 0}
		}
	}
	p.back(before)
	g.near.only = -1
	return found
}

// over reports whether a way to place a group is better than another one: more pods have places, or they cost less, or as much and
// are in one domain.
func (l *layout) over(other *layout) bool {
	switch {
	case l == nil || other == nil:
		return l != nil
	case l.placed != other.placed:
		return l.placed > other.placed
	default:
		return l.cost < other.cost || l.cost == other.cost && other.anywhere
	}
}
