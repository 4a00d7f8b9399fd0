package topology

import "math"

// cost orders divisions: by how many domains they use, then by how uneven they are, then by what is free in domains that they use.
// The costs of two parts of a tree add up. As all divisions have as many pods, the least that is free is the least that is left.
type cost struct {
	used   uint64 // domains by level, 16 bits each, the upper levels first
	uneven uint64 // the sum of the squares of what the domains of the balanced level have, and then nodes, see [Ask.nodesLast]
	free   uint64 // slots by level, 21 bits each, the upper levels first
}

// usedBits and freeBits are what a level has in a cost, and nodeBits what nodes have that come after balance; countedUsed and
// countedFree are how many levels count, from the one below the cluster.
const (
	usedBits, freeBits, nodeBits = 16, 21, 16
	countedUsed                  = 4
	countedFree                  = 3
)

// never is the cost of a division that there is not.
func never() cost { return cost{used: math.MaxUint64} }

func (c cost) possible() bool { return c.used != math.MaxUint64 }

func (c cost) plus(o cost) cost { return cost{c.used + o.used, c.uneven + o.uneven, c.free + o.free} }

func (c cost) less(o cost) bool {
	switch {
	case c.used != o.used:
		return c.used < o.used
	case c.uneven != o.uneven:
		return c.uneven < o.uneven
	}
	return c.free < o.free
}

// usedAt is the cost of one domain of a level that is used.
func usedAt(level int) uint64 {
	if level < 1 || level > countedUsed {
		return 0
	}
	return 1 << (usedBits * (countedUsed - level))
}

// own returns what a domain adds to the cost of pods in it, whatever their number.
func (p *packing) own(d int32) (c cost) {
	level := p.tree.domains[d].level
	if p.there[d] == 0 {
		if p.nodesLast && level > p.tree.Levels {
			c.uneven = 1
		} else {
			c.used = usedAt(level)
		}
	}
	if level > 0 && level <= countedFree {
		c.free = uint64(p.free[d]) << (freeBits * (countedFree - level)) //nolint:gosec // of a positive number
	}
	return c
}

// uneven returns what a number of pods in a domain of the balanced level adds, which has some already: as much as the square of
// what it has grows.
func (p *packing) uneven(d int32, pods int) cost {
	if level := p.tree.domains[d].level; level != p.ask.Balanced || level == 0 {
		return cost{}
	}
	return cost{uneven: uint64(pods) * uint64(pods+2*int(p.there[d])) << nodeBits} //nolint:gosec // of positive numbers
}

// Worth is how good places are, by what divisions are compared by, without what they leave over.
type Worth struct{ cost }

// Worth returns what shares are worth, which may be of pods that are not alike.
func (t *Tree) Worth(ask *Ask, shares []Share) (w Worth) {
	p := newPacking(t, nil, ask, nil)
	pods := make([]int, len(t.domains))
	for _, share := range shares {
		for at := t.nodes[share.Node]; at > 0; at = t.domains[at].parent {
			pods[at] += share.Pods
		}
	}
	for d, pods := range pods {
		if pods > 0 {
			w.cost = w.plus(p.own(int32(d))).plus(p.uneven(int32(d), pods))
		}
	}
	return w
}

// Better reports whether places are worth more than others.
func (w Worth) Better(than Worth) bool { return w.less(than.cost) }

// Domains is how many domains of a level are used that had none of the pods before.
func (w Worth) Domains(level int) int {
	return int(w.used / usedAt(level) % (1 << usedBits))
}
