package planner

import (
	"cmp"
	"slices"
)

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
	lacks := make(amounts, s.dims)
	for _, node := range s.nodes {
		if s.closed[node] || node == i.origin || !i.needs.fitsInto(s.capacityAt(node)) {
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
