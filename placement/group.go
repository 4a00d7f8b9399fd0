package placement

// group is the nodes of one group as a heap, the best first. It may have contenders that
// were filed anew since: they are passed over when they come to the front.
type group struct {
	key        uint64
	contenders []contender
	size       int32 // how many nodes are in it
	ordered    bool  // the contenders are a heap; until the first look they are in any order
}

type contender struct {
	index  int32
	turn   uint32
	alone  int32
	left   float32 // see Leftover
	ticket uint32
}

// before says that of two nodes of a group it is the better one.
func (c *contender) before(other *contender) bool {
	if c.alone != other.alone {
		return c.alone > other.alone
	}
	return c.winsTie(other)
}

// winsTie decides between nodes that are equally good.
func (c *contender) winsTie(other *contender) bool {
	if c.left != other.left {
		return c.left < other.left
	}
	if c.ticket != other.ticket {
		return c.ticket < other.ticket
	}
	return c.index < other.index
}

func (g *group) push(c contender) {
	g.contenders = append(g.contenders, c)
	if g.ordered {
		g.up(len(g.contenders) - 1)
	}
}

// pop removes the first one.
func (g *group) pop() {
	last := len(g.contenders) - 1
	g.contenders[0] = g.contenders[last]
	g.contenders = g.contenders[:last]
	g.down(0)
}

// order makes a heap of contenders in any order.
func (g *group) order() {
	if g.ordered {
		return
	}
	for at := len(g.contenders)/2 - 1; at >= 0; at-- {
		g.down(at)
	}
	g.ordered = true
}

func (g *group) up(at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if !g.contenders[at].before(&g.contenders[parent]) {
			return
		}
		g.contenders[at], g.contenders[parent] = g.contenders[parent], g.contenders[at]
		at = parent
	}
}

func (g *group) down(at int) {
	for {
		best := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(g.contenders); child++ {
			if g.contenders[child].before(&g.contenders[best]) {
				best = child
			}
		}
		if best == at {
			return
		}
		g.contenders[at], g.contenders[best] = g.contenders[best], g.contenders[at]
		at = best
	}
}
