package planner

import (
	"slices"

	"muster.dev/muster/api/quantity"
)

// allRoom returns the free amount of each resource on all nodes that pods may go to.
func (f *freeing) allRoom() []quantity.Wide {
	room := make([]quantity.Wide, f.dims)
	for _, node := range f.nodes {
		if f.shut[node] || f.noTarget[node] != "" {
			continue
		}
		for at, free := range f.freeAt(node) {
			room[at] = room[at].Plus(max(0, free))
		}
	}
	return room
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
func (f *freeing) hopeless(d *domain) bool {
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
