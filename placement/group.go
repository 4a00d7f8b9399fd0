package placement

import "math"

// group has the nodes of one group. The good ones are a heap, the best first; the others stay unordered until
// all good ones are gone, since most of them never get their turn. Contenders that have been filed again since
// are passed over when they come to the front.
type group struct {
	salt  uint64 // of the tickets of nodes
	size  int32  // how many nodes are in it
	good  []contender
	least int32       // what it takes to be good
	other []contender // contenders that rate less
}

func newGroup(salt uint64) *group { return &group{salt: salt, least: math.MaxInt32} }

type contender struct {
	index  int32
	turn   uint32
	alone  int32
	misfit float32 // see Misfit
}

// before reports whether of two nodes of a group a is the better one.
func (g *group) before(a, b *contender) bool {
	if a.alone != b.alone {
		return a.alone > b.alone
	}
	return a.winsTie(b, g.salt)
}

// winsTie decides between nodes that are equally good.
func (c *contender) winsTie(other *contender, salt uint64) bool {
	if c.misfit != other.misfit {
		return c.misfit < other.misfit
	}
	mine, theirs := ticket(c.index, salt), ticket(other.index, salt)
	return mine < theirs || mine == theirs && c.index < other.index
}

// ticket returns a number that a node drew.
func ticket(index int32, salt uint64) uint64 {
	drawn := (salt ^ uint64(index)) * 0x9e3779b97f4a7c15 //nolint:gosec // indexes are not negative
	return (drawn ^ drawn>>32) * 0xd6e8feb86659fd93
}

func (g *group) push(c contender) {
	if c.alone < g.least {
		g.other = append(g.other, c)
		return
	}
	g.good = append(g.good, c)
	for at := len(g.good) - 1; at > 0; {
		parent := (at - 1) / 2
		if !g.before(&g.good[at], &g.good[parent]) {
			return
		}
		g.good[at], g.good[parent] = g.good[parent], g.good[at]
		at = parent
	}
}

// first returns the first of the contenders. There must be one.
func (g *group) first() *contender {
	if len(g.good) == 0 {
		g.promote()
	}
	return &g.good[0]
}

// pop removes the first one.
func (g *group) pop() {
	last := len(g.good) - 1
	g.good[0] = g.good[last]
	g.good = g.good[:last]
	g.down(0)
}

func (g *group) clear() { g.good, g.other, g.least = g.good[:0], g.other[:0], math.MaxInt32 }

// promote makes those the good ones that are nearer to the best of the others than to
// their mean. It halves the distance, so that it is not done often.
func (g *group) promote() {
	highest, sum := int32(math.MinInt32), int64(0)
	for i := range g.other {
		highest = max(highest, g.other[i].alone)
		sum += int64(g.other[i].alone)
	}
	mean := sum / int64(len(g.other))
	g.least = highest - int32((int64(highest)-mean)/2) //nolint:gosec // less than the difference of two
	kept := g.other[:0]
	for _, c := range g.other {
		if c.alone < g.least {
			kept = append(kept, c)
		} else {
			g.good = append(g.good, c)
		}
	}
	g.other = kept
	for at := len(g.good)/2 - 1; at >= 0; at-- {
		g.down(at)
	}
}

func (g *group) down(at int) {
	for {
		best := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(g.good); child++ {
			if g.before(&g.good[child], &g.good[best]) {
				best = child
			}
		}
		if best == at {
			return
		}
		g.good[at], g.good[best] = g.good[best], g.good[at]
		at = best
	}
}
