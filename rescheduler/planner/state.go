package planner

import (
	"cmp"
	"slices"

	"muster.dev/muster/cluster"
)

// item is a pod in the search.
type item struct {
	pod    *cluster.Pod
	anew   *cluster.Pod // as it is placed again, once that was proven
	needs  amounts
	origin int32 // -1 for a pending pod
	at     int32 // -1 for nowhere
	slot   int32 // its place in state.on[at]
	turn   int32 // its place in state.gone, while it is away
	kind   int32
	unit   int32     // of pods that are moved, in roster.units
	group  int32     // of a pending pod
	near   *vicinity // of a pending pod that has to be near others, nil for none
	wish   *wish     // that it leaves its node, nil for none
	limit  int32     // the priority up to which pods may be moved for it

	cost     int64
	accounts []int32 // of the ledger
	size     float64
	pinned   bool // it stays where it is, for the time of an ejection chain
	awaits   bool // of a pending pod: it was proven that it fits once others have left by themselves, and not before
}

func (i *item) pending() bool { return i.origin < 0 }

// isToLeave reports whether an item has a wish to leave its node, and the wish had its turn.
func (i *item) isToLeave() bool { return i.wish != nil && i.wish.open && !i.wish.givenUp }

// expense returns what it still costs to evict an item.
func (i *item) expense() int64 {
	if i.away() {
		return 0
	}
	return i.cost
}

// away reports whether it is a pod that was evicted.
func (i *item) away() bool { return i.origin >= 0 && i.at != i.origin }

// state is where the pods are that may be moved, and what room that leaves. All parts of a search work on
// one state: what they do is in its log, and can be taken back.
type state struct {
	*reckoning

	rates    rates
	nodes    []int32 // all of them
	dims     int
	capacity []int64   // by node index and resource: what the node offers, or bears
	free     []int64   // by node index and resource
	spare    []int64   // the same: what was free at first, less what moved there
	initial  []int64   // free, at first
	on       [][]int32 // items by node index
	closed   []bool    // by node index: nothing goes there
	noTarget []string  // by node index: why nothing does, as [NoTarget] says
	items    []item
	left     map[place]int32 // how many items of a kind left a node
	came     map[place]int32 // and came to one
	ledger   *ledger
	leaving  leaving

	gone []int32 // the items that are away
	cost int64
	log  []relocation
}

// place is a node, for a kind of pods.
type place struct{ kind, node int32 }

type relocation struct{ item, from int32 }

// newState returns the state of a problem before anything moves: places that are kept are taken.
func newState(p *Problem) *state {
	reckoning := newReckoning(p)
	end, dims := p.Snapshot.IndexEnd(), reckoning.length()
	s := &state{
		reckoning: reckoning,
		rates:     ratesOf(p.Snapshot, reckoning),
		dims:      dims,
		capacity:  make([]int64, end*dims),
		free:      make([]int64, end*dims),
		on:        make([][]int32, end),
		closed:    make([]bool, end),
		noTarget:  make([]string, end),
		left:      map[place]int32{},
		came:      map[place]int32{},
		ledger:    newLedger(p.Budgets, p.Snapshot),
		leaving:   leavingOf(p, reckoning),
	}
	for node := range p.Snapshot.Nodes() {
		s.nodes = append(s.nodes, node.Index)
		s.noTarget[node.Index] = NoTarget(node)
		capacity, taken := reckoning.offers(node)
		free := s.freeAt(node.Index)
		copy(free, capacity)
		copy(s.capacityAt(node.Index), free)
		taken.addTo(free, -1)
	}
	for _, held := range p.Reserved {
		s.needs(held.Pod, p.Snapshot.Node(held.Node)).addTo(s.freeAt(held.Node), -1)
	}
	s.initial, s.spare = slices.Clone(s.free), slices.Clone(s.free)
	return s
}

// add makes an item of a pod, and returns its index.
func (s *state) add(i item) int32 {
	index := int32(len(s.items)) //nolint:gosec // no more than there are pods
	if i.at >= 0 {
		i.slot = int32(len(s.on[i.at])) //nolint:gosec // as above
		s.on[i.at] = append(s.on[i.at], index)
	}
	s.items = append(s.items, i)
	return index
}

func (s *state) freeAt(node int32) []int64 {
	return s.free[int(node)*s.dims : (int(node)+1)*s.dims]
}

func (s *state) capacityAt(node int32) []int64 {
	return s.capacity[int(node)*s.dims : (int(node)+1)*s.dims]
}

func (s *state) spareAt(node int32) []int64 {
	return s.spare[int(node)*s.dims : (int(node)+1)*s.dims]
}

// move brings an item to a node, -1 for nowhere.
func (s *state) move(at, to int32) {
	s.log = append(s.log, relocation{at, s.items[at].at})
	s.relocate(at, to)
}

// back undoes what happened since the log had a length.
func (s *state) back(length int) {
	for len(s.log) > length {
		last := s.log[len(s.log)-1]
		s.log = s.log[:len(s.log)-1]
		s.relocate(last.item, last.from)
	}
}

func (s *state) relocate(at, to int32) {
	i := &s.items[at]
	wasAway := i.away()
	if i.at >= 0 {
		i.needs.addTo(s.freeAt(i.at), +1)
		on := s.on[i.at]
		last := on[len(on)-1]
		on[i.slot], s.items[last].slot = last, i.slot
		s.on[i.at] = on[:len(on)-1]
		if wasAway {
			i.needs.addTo(s.spareAt(i.at), +1)
			s.came[place{i.kind, i.at}]--
		}
	}
	i.at = to
	if to >= 0 {
		i.needs.addTo(s.freeAt(to), -1)
		i.slot = int32(len(s.on[to])) //nolint:gosec // no more than there are pods
		s.on[to] = append(s.on[to], at)
		if i.away() {
			i.needs.addTo(s.spareAt(to), -1)
			s.came[place{i.kind, to}]++
		}
	}
	if isAway := i.away(); isAway != wasAway {
		sign := int32(1)
		if wasAway {
			sign = -1
			last := s.gone[len(s.gone)-1]
			s.gone[i.turn], s.items[last].turn = last, i.turn
			s.gone = s.gone[:len(s.gone)-1]
		} else {
			i.turn = int32(len(s.gone)) //nolint:gosec // no more than there are pods
			s.gone = append(s.gone, at)
		}
		s.cost += int64(sign) * i.cost
		s.left[place{i.kind, i.origin}] += sign
		s.ledger.count(i.accounts, sign)
	}
}

// positions returns where all items are that are pending or away.
func (s *state) positions() map[int32]int32 {
	at := map[int32]int32{}
	for i := range s.items {
		if item := &s.items[i]; item.pending() || item.away() {
			at[int32(i)] = item.at
		}
	}
	return at
}

// restore brings all items to where they were: items that had no position, to their origin.
func (s *state) restore(at map[int32]int32) {
	for i := range s.items {
		item := &s.items[i]
		to, known := at[int32(i)]
		if !known {
			to = item.origin
		}
		if item.at != to {
			s.move(int32(i), to)
		}
	}
}

// windows are how many nodes are looked at before more are: a good place is mostly among the nodes that lack
// the least.
var windows = [...]int{64, 512, 4096, 1 << 30} //nolint:gochecknoglobals // a constant

// byDeficit returns the nodes that could take an item if others left, in parts, the nodes that lack the least
// first.
func (s *state) byDeficit(i *item) [][]int32 {
	type deficit struct {
		node int32
		size float64
	}
	var deficits []deficit
	lacks, admits := make(amounts, s.dims), i.near.admits()
	for _, node := range s.nodes {
		if s.closed[node] || node == i.origin || !admits(node) || !i.needs.fitsInto(s.capacityAt(node)) {
			continue
		}
		i.needs.short(s.freeAt(node), lacks)
		deficits = append(deficits, deficit{node, s.rates.size(lacks)})
	}
	slices.SortStableFunc(deficits, func(a, b deficit) int { return cmp.Compare(a.size, b.size) })
	var parts [][]int32
	for _, window := range windows {
		part := deficits[:min(window, len(deficits))]
		if len(part) == 0 {
			break
		}
		nodes := make([]int32, len(part))
		for n, d := range part {
			nodes[n] = d.node
		}
		parts, deficits = append(parts, nodes), deficits[len(part):]
	}
	return parts
}
