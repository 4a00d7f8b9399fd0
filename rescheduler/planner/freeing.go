package planner

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"muster.dev/muster/api/quantity"
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
	domain   *domain
	until    time.Time       // when the time for the domain is up, so that each gets some
	shut     []bool          // as in survey
	room     []quantity.Wide // as in survey
}

func newFreeing(s *search, clearing *clearing, known *survey, d *domain, until time.Time) *freeing {
	return &freeing{
		state: s.state, roster: s.roster, clearing: clearing, savings: s.savings, audit: s.audit, dice: s.dice, watch: s.watch,
		domain: d, until: until, shut: known.shut, room: known.room,
	}
}

// effort bounds how long is searched for each set of nodes.
type effort struct {
	sets   int // of the domain that are tried
	shakes int // other choices that are tried for a set
}

// effort is less for domains with many pods, where sets are more alike and each takes longer.
func (f *freeing) effort() effort {
	const many = 512
	pods := 0
	for _, node := range f.domain.filled {
		pods += len(f.on[node])
	}
	if pods > many {
		return effort{sets: 8, shakes: 2}
	}
	return effort{sets: 64, shakes: 8}
}

// past reports whether the time for the domain is up.
func (f *freeing) past() bool { return f.watch.past() || !f.watch.clock.Now().Before(f.until) }

// layout is where pods are when some nodes are empty, or a group has places.
type layout struct {
	empty    []int32
	at       map[int32]int32
	cost     int64
	placed   int  // pods of the group
	anywhere bool // the group is in no domain in particular
}

// empty empties nodes of the domain, until it has the number of empty ones that it should, or changes nothing and
// says why not.
func (f *freeing) empty() {
	d := f.domain
	copy(f.closed, f.shut)
	d.chosen = nil
	var best *layout
	for again := true; again; {
		if d.short() {
			return
		}
		if f.hopeless() {
			d.refusal.Reason = ReasonLittleRoom
			return
		}
		best, again = f.choose()
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
	case f.overdraws():
		d.refusal.Reason = ReasonManyAtOnce
	default:
		d.refusal.Reason = ReasonNotTogether
	}
}

// choose returns the cheapest way that it finds to free the domain, nil for none. It asks to be called again when it has found
// a node that cannot be emptied at all, and has dropped it.
func (f *freeing) choose() (best *layout, again bool) {
	d := f.domain
	pool := slices.Concat(d.empty, d.filled)
	e, tries := f.effort(), 0
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
		if found == nil && best == nil && f.dropStuck(set, e) {
			return nil, true
		}
	}
	if best == nil && tries > e.sets {
		best = f.gather(pool, e)
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
func (f *freeing) dropStuck(set []int32, e effort) (dropped bool) {
	d := f.domain
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
func (f *freeing) gather(pool []int32, e effort) (found *layout) {
	var set []int32
	for _, node := range pool {
		more := append(slices.Clone(set), node)
		if f.exceeds(more) {
			continue
		}
		if more := f.try(more, math.MaxInt64, e.shakes); more != nil {
			if set, found = more.empty, more; len(set) == f.domain.nodes {
				return found
			}
		}
	}
	return nil
}

// overdraws reports whether budgets forbid to empty the cheapest nodes that would do.
func (f *freeing) overdraws() bool {
	d := f.domain
	_, ok := f.clearing.ejectAll(d.filled[:d.nodes-len(d.empty)])
	f.back(0)
	return !ok
}

// forsake drops the nodes of the domain that were chosen and that the predicates do not let be emptied, and returns how
// many these are.
func (f *freeing) forsake() (forsaken int) {
	d := f.domain
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

// needsOn returns the needs of the pods of a node, by resource.
func (f *freeing) needsOn(node int32) []int64 {
	needs := make([]int64, f.dims)
	for _, at := range f.on[node] {
		f.items[at].needs.gather(needs)
	}
	return needs
}

// exceeds reports whether all other nodes together have too little room for the pods of a set: these take it there, and
// what is free on their own nodes is none.
func (f *freeing) exceeds(set []int32) bool {
	needed, left := make([]bool, f.dims), slices.Clone(f.room)
	for _, node := range set {
		free := f.freeAt(node)
		for at, needs := range f.needsOn(node) {
			needed[at] = needed[at] || needs > 0
			left[at] = left[at].Minus(needs).Minus(max(0, free[at]))
		}
	}
	for at := range left {
		if needed[at] && left[at].Sign() < 0 {
			return true
		}
	}
	return false
}

// hopeless reports that of any resource, the other nodes together have too little for the pods of any nodes that would do.
func (f *freeing) hopeless() bool {
	d := f.domain
	losses := make([][]int64, f.dims)
	for _, node := range slices.Concat(d.empty, d.filled) {
		free := f.freeAt(node)
		for at, needs := range f.needsOn(node) {
			loss := int64(0) // there may be none left of what nobody asks for
			if needs > 0 {
				loss = quantity.Sum(needs, max(0, free[at]))
			}
			losses[at] = append(losses[at], loss)
		}
	}
	for at, lost := range losses {
		slices.Sort(lost)
		left := f.room[at]
		for _, loss := range lost[:d.nodes] {
			left = left.Minus(loss)
		}
		if left.Sign() < 0 {
			return true
		}
	}
	return false
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
