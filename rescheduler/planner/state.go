package planner

import "muster.dev/muster/cluster"

// item is a pod in the search.
type item struct {
	pod    *cluster.Pod
	anew   *cluster.Pod // as it is placed anew, once that was proven
	needs  amounts
	origin int32 // -1 for a pending pod
	at     int32 // -1 for nowhere
	slot   int32 // its place in state.on[at]
	turn   int32 // its place in state.gone, while it is away
	kind   int32
	unit   int32 // of pods that are moved, in search.units
	group  int32 // of a pending pod
	wish   *wish // that it leaves its node, nil for none
	limit  int32 // the priority up to which pods may be moved for it

	cost     int64
	accounts []int32 // of the ledger
	size     float64
	pinned   bool // it stays where it is, for the time of an ejection chain
}

func (i *item) pending() bool { return i.origin < 0 }

// isToLeave says that there is a wish that it leaves its node, and that it was its turn.
func (i *item) isToLeave() bool { return i.wish != nil && i.wish.open && !i.wish.givenUp }

// away says that it is a pod that was evicted.
func (i *item) away() bool { return i.origin >= 0 && i.at != i.origin }

// state is where the pods are that may be moved, and what room that leaves.
type state struct {
	*reckoning

	dims     int
	capacity []int64   // by node index and resource: what the node offers, or bears
	free     []int64   // by node index and resource
	spare    []int64   // the same: what was free at first, less what moved there
	initial  []int64   // free, at first
	on       [][]int32 // items by node index
	closed   []bool    // by node index: nothing goes there
	items    []item
	left     map[place]int32 // how many items of a kind left a node
	came     map[place]int32 // and came to one
	ledger   *ledger

	gone []int32 // the items that are away
	cost int64
	log  []relocation
}

// place is a node, for a kind of pods.
type place struct{ kind, node int32 }

type relocation struct{ item, from int32 }

func newState(p *Problem, l *ledger) *state {
	reckoning := newReckoning(p)
	end, dims := p.Snapshot.IndexEnd(), reckoning.length()
	s := &state{
		reckoning: reckoning,
		dims:      dims,
		capacity:  make([]int64, end*dims),
		free:      make([]int64, end*dims),
		on:        make([][]int32, end),
		closed:    make([]bool, end),
		left:      map[place]int32{},
		came:      map[place]int32{},
		ledger:    l,
	}
	for node := range p.Snapshot.Nodes() {
		capacity, taken := reckoning.offers(node)
		free := s.freeAt(node.Index)
		copy(free, capacity)
		copy(s.capacityAt(node.Index), free)
		taken.addTo(free, -1)
	}
	return s
}

// begin makes the present room that of the beginning.
func (s *state) begin() {
	s.initial, s.spare = append([]int64(nil), s.free...), append([]int64(nil), s.free...)
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
