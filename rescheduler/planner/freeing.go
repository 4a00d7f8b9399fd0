package planner

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// freeing chooses which nodes of a domain are emptied. It goes through sets of them, those first whose pods are the
// cheapest: a set costs what its pods cost, and more only if others have to make room for them.
type freeing struct {
	*state

	roster   *roster
	clearing *clearing
	savings  *savings
	audit    *audit
	dice     *dice
	watch    *stopwatch
	shut     []bool          // by node index: empty, and in a domain that has enough empty nodes
	until    time.Time       // when the time for a domain is up, so that each gets some
	room     []quantity.Wide // by resource: what is free on all nodes that pods may go to
}

// effort bounds how long is searched for each set of nodes.
type effort struct {
	sets   int // of a domain that are tried
	shakes int // other choices that are tried for a set
}

// effortFor is less for domains with many pods, where sets are more alike and each takes longer.
func (f *freeing) effortFor(d *domain) effort {
	const many = 512
	pods := 0
	for _, node := range d.filled {
		pods += len(f.on[node])
	}
	if pods > many {
		return effort{sets: 8, shakes: 2}
	}
	return effort{sets: 64, shakes: 8}
}

// survey returns the domains that have too few empty nodes, the cheapest first, and how many have enough. It closes the
// empty nodes of the latter.
func (f *freeing) survey(p *Problem, want Domains) (lacking []*domain, free int) {
	held, byName := map[int32]bool{}, map[string]*domain{}
	for _, place := range p.Reserved {
		held[place.Node] = true
	}
	var all []*domain
	for _, node := range f.nodes {
		f.roster.load(node)
		at := f.roster.snap.Node(node)
		name, labelled := at.Labels[want.Key]
		if !labelled {
			continue
		}
		d := byName[name]
		if d == nil {
			d = &domain{
				nodes: want.Nodes, refusal: Refusal{Name: name}, cost: map[int32]int64{}, able: map[int32]bool{}, unfit: map[string]int{},
				staying: map[string]int{},
			}
			byName[name], all = d, append(all, d)
		}
		f.enter(d, at, held[node])
	}
	for _, d := range all {
		if len(d.empty) >= d.nodes {
			free++
			for _, node := range d.empty {
				f.shut[node] = true
			}
			continue
		}
		lacking = append(lacking, d)
		if d.short() {
			continue
		}
		f.sort(d.filled, d.cost)
		for _, node := range d.filled[:d.nodes-len(d.empty)] {
			d.least += d.cost[node]
		}
	}
	copy(f.closed, f.shut)
	f.room = f.allRoom()
	slices.SortFunc(lacking, func(a, b *domain) int {
		return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.refusal.Name, b.refusal.Name))
	})
	return lacking, free
}

// sort puts nodes in order of their cost.
func (f *freeing) sort(nodes []int32, cost map[int32]int64) {
	slices.SortFunc(nodes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(cost[a], cost[b]), cmp.Compare(f.roster.snap.Node(a).Name, f.roster.snap.Node(b).Name))
	})
}

// enter counts a node in its domain.
func (f *freeing) enter(d *domain, node *cluster.Node, held bool) {
	d.total++
	staying := f.roster.staying(node.Index)
	switch keeps := Keeps(node); {
	case NoTarget(node) != "":
		d.unfit[NoTarget(node)]++
	case node.Spec.Unschedulable && node.Annotations[v1alpha1.AnnotationCordoned] != "true":
		d.unfit[ReasonNodeCordoned]++
	case held:
		d.unfit[ReasonNodeHeld]++
	case len(staying) > 0:
		d.unfit[ReasonPodsStay]++
		for _, detail := range staying {
			d.staying[detail.Reason] += detail.Pods
		}
	case len(f.on[node.Index]) == 0:
		d.empty = append(d.empty, node.Index)
	case keeps != "":
		d.unfit[keeps]++
	default:
		d.filled = append(d.filled, node.Index)
		for _, at := range f.on[node.Index] {
			d.cost[node.Index] += f.items[at].cost
		}
	}
}

// past reports whether the time for a domain is up.
func (f *freeing) past() bool { return f.watch.past() || !f.watch.clock.Now().Before(f.until) }

// layout is where pods are when some nodes are empty.
type layout struct {
	empty []int32
	at    map[int32]int32
	cost  int64
}

// empty empties nodes of a domain, until it has the number of empty ones that it should, or changes nothing and
// says why not.
func (f *freeing) empty(d *domain) {
	copy(f.closed, f.shut)
	d.chosen = nil
	var best *layout
	for again := true; again; {
		if d.short() {
			return
		}
		if f.hopeless(d) {
			d.refusal.Reason = ReasonLittleRoom
			return
		}
		best, again = f.choose(d)
	}
	switch {
	case best != nil:
		f.restore(best.at)
		for _, node := range best.empty {
			f.closed[node] = true
		}
		d.chosen = best.empty
	case f.past():
		d.refusal.Reason = ReasonLate
	case f.overdraws(d):
		d.refusal.Reason = ReasonManyAtOnce
	default:
		d.refusal.Reason = ReasonNotTogether
	}
}

// choose returns the cheapest way that it finds to free a domain, nil for none. It asks to be called again when it has found
// a node that cannot be emptied at all, and has dropped it.
func (f *freeing) choose(d *domain) (best *layout, again bool) {
	pool := slices.Concat(d.empty, d.filled)
	e, tries := f.effortFor(d), 0
	for set, least := range cheapestSets(pool, d.cost, d.nodes) {
		if best != nil && least >= best.cost {
			return best, false
		}
		if tries++; tries > e.sets || f.past() {
			break
		}
		if f.exceeds(set) {
			continue
		}
		found := f.try(set, least, e.shakes)
		if found != nil && (best == nil || found.cost < best.cost) {
			best = found
		}
		if found == nil && best == nil && f.dropStuck(d, set, e) {
			return nil, true
		}
	}
	if best == nil && tries > e.sets {
		best = f.gather(d, pool, e)
	}
	return best, false
}

// try empties all nodes of a set, as cheaply as it can, and takes that back; nil when it cannot. It ends early
// at a cost of enough or less.
func (f *freeing) try(set []int32, enough int64, shakes int) (best *layout) {
	defer func() { f.dice.noise = 0 }()
	for range shakes {
		if f.clearing.vacate(set...) {
			f.savings.letStay()
			if _, ok := f.audit.sound(); ok && (best == nil || f.cost < best.cost) {
				best = &layout{empty: set, at: f.positions(), cost: f.cost}
			}
			f.back(0)
			copy(f.closed, f.shut)
		}
		if best != nil && best.cost <= enough || f.past() {
			break
		}
		f.dice.noise = 0.2
	}
	return best
}

// dropStuck drops those nodes of a set that cannot be emptied, even if no other one is.
func (f *freeing) dropStuck(d *domain, set []int32, e effort) (dropped bool) {
	for _, node := range set {
		if d.able[node] || !slices.Contains(d.filled, node) {
			continue
		}
		d.able[node] = len(set) > 1 && f.try([]int32{node}, math.MaxInt64, e.shakes) != nil
		if !d.able[node] && !f.past() {
			d.drop(node, ReasonNoOtherPlace)
			dropped = true
		}
	}
	return dropped
}

// gather adds one node after the other that can be empty together with the nodes before it.
func (f *freeing) gather(d *domain, pool []int32, e effort) (found *layout) {
	var set []int32
	for _, node := range pool {
		more := append(slices.Clone(set), node)
		if f.exceeds(more) {
			continue
		}
		if more := f.try(more, math.MaxInt64, e.shakes); more != nil {
			if set, found = more.empty, more; len(set) == d.nodes {
				return found
			}
		}
	}
	return nil
}

// overdraws reports whether budgets forbid to empty the cheapest nodes that would do.
func (f *freeing) overdraws(d *domain) bool {
	_, ok := f.clearing.ejectAll(d.filled[:d.nodes-len(d.empty)])
	f.back(0)
	return !ok
}

// forsake drops the nodes of a domain that were chosen and that the predicates do not let be emptied, and returns how
// many these are.
func (f *freeing) forsake(d *domain) (forsaken int) {
	for _, node := range d.chosen {
		if f.closed[node] {
			continue
		}
		forsaken++
		d.empty = slices.DeleteFunc(d.empty, func(other int32) bool { return other == node })
		d.drop(node, ReasonNoOtherPlace)
	}
	return forsaken
}

// cheapestSets yields the sets of size nodes, the cheapest first. The pool is in order of cost.
func cheapestSets(pool []int32, cost map[int32]int64, size int) iter.Seq2[[]int32, int64] {
	type set struct {
		at   []int // ascending
		cost int64
	}
	costOf := func(at []int) (sum int64) {
		for _, i := range at {
			sum += cost[pool[i]]
		}
		return sum
	}
	return func(yield func([]int32, int64) bool) {
		first := make([]int, size)
		for i := range first {
			first[i] = i
		}
		ahead := []set{{first, costOf(first)}}
		for len(ahead) > 0 {
			next := ahead[0]
			ahead = ahead[1:]
			nodes := make([]int32, size)
			for i, at := range next.at {
				nodes[i] = pool[at]
			}
			if !yield(nodes, next.cost) {
				return
			}
			for i, at := range next.at { // each other set has one in which one node is a bit cheaper
				if at+1 == len(pool) || i+1 < size && next.at[i+1] == at+1 {
					continue
				}
				more := slices.Clone(next.at)
				more[i]++
				other := set{more, costOf(more)}
				where, known := slices.BinarySearchFunc(ahead, other, func(a, b set) int {
					return cmp.Or(cmp.Compare(a.cost, b.cost), slices.Compare(a.at, b.at))
				})
				if !known {
					ahead = slices.Insert(ahead, where, other)
				}
			}
		}
	}
}
