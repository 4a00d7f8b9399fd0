package planner

import "slices"

// allRoom is what is free, by resource, on all nodes that pods may go to.
func (f *freeing) allRoom() []int64 {
	room := make([]int64, f.dims)
	for _, node := range f.nodes {
		if f.shut[node] || f.noTarget[node] != "" {
			continue
		}
		for at, free := range f.freeAt(node) {
			room[at] += max(0, free)
		}
	}
	return room
}

// loss is how much less room there is, by resource, when a node is empty: its pods take it elsewhere, and its own is none.
func (f *freeing) loss(node int32) (needs, loss []int64) {
	needs, loss = make([]int64, f.dims), make([]int64, f.dims)
	for _, at := range f.on[node] {
		f.items[at].needs.addTo(needs, +1)
	}
	for at, free := range f.freeAt(node) {
		loss[at] = needs[at] + max(0, free)
	}
	return needs, loss
}

// exceeds reports whether all other nodes together have too little room for the pods of a set.
func (f *freeing) exceeds(set []int32) bool {
	needs, left := make([]int64, f.dims), slices.Clone(f.room)
	for _, node := range set {
		needed, lost := f.loss(node)
		for at := range left {
			needs[at] += needed[at]
			left[at] -= lost[at]
		}
	}
	for at := range left {
		if needs[at] > 0 && left[at] < 0 {
			return true
		}
	}
	return false
}

// hopeless reports that of any resource, the other nodes together have too little for the pods of any nodes that would do.
func (f *freeing) hopeless(d *domain) bool {
	losses := make([][]int64, f.dims)
	for _, node := range slices.Concat(d.empty, d.filled) {
		needs, loss := f.loss(node)
		for at := range losses {
			if needs[at] == 0 {
				loss[at] = 0 // there may be none left of what nobody asks for
			}
			losses[at] = append(losses[at], loss[at])
		}
	}
	for at, lost := range losses {
		slices.Sort(lost)
		sum := int64(0)
		for _, loss := range lost[:d.nodes] {
			sum += loss
		}
		if sum > f.room[at] {
			return true
		}
	}
	return false
}
