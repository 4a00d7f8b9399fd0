package topology

import (
	"math"
	"slices"
)

// Ask has the demands of a gang on a network. A slice divides the one before it, and the first one all pods of the gang; none is at a
// level above the one before it, or above the required one.
type Ask struct {
	// Pods is how many have to have places.
	Pods int
	// Required is the level of the one domain that has all of them: 0 for the cluster. A domain whose nodes lack a label of the
	// level, or of one above it, is none.
	Required int
	// Balanced is the level whose domains share the pods as evenly as possible, 0 for none.
	Balanced int
	// Slices divide the pods.
	Slices []Slice
	// There are pods of the gang that have nodes already. They have to be in the domain that has all, and count in slices and for
	// balance.
	There []Share
	// Except are nodes of domains at the required level that are left out.
	Except []int32
}

// Slice is a number of pods that one domain of a level has.
type Slice struct{ Size, Level int }

// Division is how pods are divided over nodes.
type Division struct {
	Within int32 // a node of the domain that has all of them
	// Nodes are in the order of the tree: the ones of a domain stand side by side.
	Nodes []Share
}

// Share is the number of pods that a node has.
type Share struct {
	Node int32 // its index
	Pods int
}

// Lack says how far a tree is from having room.
type Lack struct {
	Domains int   // how many there are at the level that is required
	Within  int32 // a node of the one with the most room, -1 if there is no domain
	Pods    int   // how many pods have room there
}

// cost orders divisions: by how many domains they use, then by how uneven they are, then by what they leave in domains that they
// use. The costs of two parts of a tree add up.
type cost struct {
	used   uint64 // domains by level, 16 bits each, the upper levels first
	uneven uint64 // the sum of the squares of what the domains of the balanced level have
	left   uint64 // slots by level, 21 bits each, the upper levels first
}

// usedBits and leftBits are what a level has in a cost; countedLevels is how many levels count, from the one below the cluster.
const (
	usedBits, leftBits = 16, 21
	countedUsed        = 4
	countedLeft        = 3
)

// never is the cost of a division that there is not.
func never() cost { return cost{used: math.MaxUint64} }

func (c cost) possible() bool { return c.used != math.MaxUint64 }

func (c cost) plus(o cost) cost { return cost{c.used + o.used, c.uneven + o.uneven, c.left + o.left} }

func (c cost) less(o cost) bool {
	switch {
	case c.used != o.used:
		return c.used < o.used
	case c.uneven != o.uneven:
		return c.uneven < o.uneven
	}
	return c.left < o.left
}

// packing is one search in a tree.
type packing struct {
	tree   *Tree
	ask    *Ask
	slots  []int32 // of each domain, in whole slices
	free   []int32 // slots of each domain that a slice may leave over, too
	there  []int32 // pods of the gang in each domain already
	tables map[key]*table
	late   func() bool
	cut    bool // it was late
}

// table has what each number of pods in a part of a tree costs, from none up to all that have room and are asked for.
// Parts that are alike have one table.
type table struct {
	id    int
	costs []cost
}

// key names what a table is of: two parts together by their tables, or a domain of a level by the table of what is below it and
// its slots.
type key struct {
	first, second, level int
	slots, free, there   int32
}

func newPacking(t *Tree, slots []int32, ask *Ask, late func() bool) *packing {
	size := len(t.domains)
	p := &packing{
		tree: t, ask: ask, slots: make([]int32, size), free: make([]int32, size), there: make([]int32, size), tables: map[key]*table{},
		late: late,
	}
	there := map[int32]int32{}
	for _, share := range ask.There {
		there[share.Node] += int32(share.Pods) //nolint:gosec // no more than a gang has
	}
	for i := size - 1; i > 0; i-- {
		d := &t.domains[i]
		if d.node >= 0 {
			p.there[i] = there[d.node]
			if int(d.node) < len(slots) {
				p.slots[i], p.free[i] = slots[d.node], slots[d.node]
			}
		}
		step := ask.step(d.level)
		p.slots[i] = max(0, (p.slots[i]+p.there[i])/step*step-p.there[i])
		if d.bare && step > 1 {
			p.slots[i] = 0 // no domain of that level
		}
		p.slots[d.parent] += p.slots[i]
		p.free[d.parent] += p.free[i]
		p.there[d.parent] += p.there[i]
	}
	return p
}

// Pack divides pods over nodes. Slots has how many of them a node takes, by its index, and none for nodes that are missing. It
// returns no division but what is lacking if there is not enough room, and neither if it is late before it is done.
func (t *Tree) Pack(slots []int32, ask *Ask, late func() bool) (*Division, *Lack) {
	p := newPacking(t, slots, ask, late)
	chosen, least, most := int32(-1), never(), Lack{Within: -1}
	for _, d := range t.at(ask.Required) {
		domain := &t.domains[d]
		if ask.Required > 0 && domain.lacks || p.there[d] < p.there[0] || p.excepted(d) {
			continue
		}
		if most.Domains++; most.Within < 0 || int(p.slots[d]) > most.Pods {
			most.Within, most.Pods = domain.example, int(p.slots[d])
		}
		if int(p.slots[d]) < ask.Pods {
			continue
		}
		c := p.costs(d).costs[ask.Pods]
		if !c.possible() {
			continue
		}
		for at := domain.parent; at > 0; at = t.domains[at].parent {
			c = c.plus(p.own(at, ask.Pods))
		}
		if c.less(least) {
			chosen, least = d, c
		}
	}
	switch {
	case p.cut:
		return nil, nil
	case chosen < 0:
		return nil, &most
	}
	division := &Division{Within: t.domains[chosen].example}
	p.divide(chosen, ask.Pods, division)
	slices.SortFunc(division.Nodes, func(a, b Share) int { return int(t.place[a.Node] - t.place[b.Node]) })
	return division, nil
}

// Whole returns how many of a number of pods make whole slices with the ones that are there.
func (a *Ask) Whole(pods int) int {
	if len(a.Slices) == 0 {
		return pods
	}
	there := 0
	for _, share := range a.There {
		there += share.Pods
	}
	return max(0, (there+pods)/a.Slices[0].Size*a.Slices[0].Size-there)
}

// excepted reports whether a domain is left out.
func (p *packing) excepted(d int32) bool {
	return slices.ContainsFunc(p.ask.Except, func(node int32) bool { return p.tree.within(node, d) })
}

// step returns of what number the pods in a domain of a level are a multiple: of the largest slice that such a domain has whole.
func (a *Ask) step(level int) int32 {
	for _, s := range a.Slices {
		if s.Level == level {
			return int32(s.Size) //nolint:gosec // a gang has no more members
		}
	}
	return 1
}

// costs returns the table of a domain.
func (p *packing) costs(d int32) *table {
	domain := &p.tree.domains[d]
	k := key{first: -1, level: domain.level, slots: p.slots[d], free: p.free[d], there: p.there[d]}
	var below *table
	if domain.node < 0 {
		below = p.together(p.filled(d))
		k.first = below.id
	}
	return p.known(k, func() []cost {
		costs := make([]cost, min(int(p.slots[d]), p.ask.Pods)+1)
		if below != nil {
			copy(costs, below.costs)
		}
		there, step := int(p.there[d]), int(p.ask.step(domain.level))
		for pods := range costs {
			switch {
			case (there+pods)%step != 0:
				costs[pods] = never()
			case pods > 0 && costs[pods].possible():
				costs[pods] = costs[pods].plus(p.own(d, pods))
			}
		}
		return costs
	})
}

// part is a domain with its table.
type part struct {
	domain int32
	*table
}

// filled returns the domains below another one that have room, or pods already. Domains that are alike stand side by side.
func (p *packing) filled(d int32) []part {
	var parts []part
	for _, child := range p.tree.domains[d].children {
		if p.slots[child]+p.there[child] > 0 {
			parts = append(parts, part{child, p.costs(child)})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.id - b.id })
	return parts
}

// together returns the table of some domains together.
func (p *packing) together(parts []part) *table {
	switch len(parts) {
	case 0:
		return p.known(key{first: -1}, func() []cost { return []cost{{}} })
	case 1:
		return parts[0].table
	}
	first, second := p.together(parts[:len(parts)/2]), p.together(parts[len(parts)/2:])
	return p.known(key{first: first.id, second: second.id, level: -1}, func() []cost { return p.join(first.costs, second.costs) })
}

// known returns the table of a key, which is made if there is none.
func (p *packing) known(k key, costs func() []cost) *table {
	t := p.tables[k]
	if t == nil {
		t = &table{len(p.tables), costs()}
		p.tables[k] = t
	}
	return t
}

// own returns what a domain adds to the cost of some pods in it.
func (p *packing) own(d int32, pods int) (c cost) {
	level, there := p.tree.domains[d].level, int(p.there[d])
	if below := level - 1; below >= 0 && below < countedUsed && there == 0 {
		c.used = 1 << (usedBits * (countedUsed - 1 - below))
	}
	if below := level - 1; below >= 0 && below < countedLeft {
		c.left = uint64(int(p.free[d])-pods) << (leftBits * (countedLeft - 1 - below)) //nolint:gosec // it has as many free
	}
	if level == p.ask.Balanced && level > 0 {
		c.uneven = uint64(there+pods) * uint64(there+pods) //nolint:gosec // of positive numbers
	}
	return c
}

// rowsAtATime is how many rows are joined between two looks at the clock: each is as long as the other table.
const rowsAtATime = 64

// join returns the least costs of pods in two parts of a tree together.
func (p *packing) join(a, b []cost) []cost {
	joined := make([]cost, min(len(a)+len(b)-2, p.ask.Pods)+1)
	for i := range joined {
		joined[i] = never()
	}
	for i, with := range a {
		if i%rowsAtATime == 0 && !p.cut {
			p.cut = p.late()
		}
		if p.cut || !with.possible() {
			continue
		}
		for j := range b[:min(len(b), len(joined)-i)] {
			if !b[j].possible() {
				continue
			}
			if c := with.plus(b[j]); c.less(joined[i+j]) {
				joined[i+j] = c
			}
		}
	}
	return joined
}

// divide adds to a division how a number of pods in a domain is divided.
func (p *packing) divide(d int32, pods int, division *Division) {
	if node := p.tree.domains[d].node; node >= 0 {
		division.Nodes = append(division.Nodes, Share{node, pods})
		return
	}
	p.split(p.filled(d), pods, division)
}

// split is divide for domains together.
func (p *packing) split(parts []part, pods int, division *Division) {
	switch {
	case pods == 0:
		return
	case len(parts) == 1:
		p.divide(parts[0].domain, pods, division)
		return
	}
	half := len(parts) / 2
	first, second := p.together(parts[:half]).costs, p.together(parts[half:]).costs
	least, in := never(), 0
	for n := min(len(first)-1, pods); n >= 0 && pods-n < len(second); n-- {
		if !first[n].possible() || !second[pods-n].possible() {
			continue
		}
		if c := first[n].plus(second[pods-n]); c.less(least) {
			least, in = c, n
		}
	}
	p.split(parts[:half], in, division)
	p.split(parts[half:], pods-in, division)
}
