package topology

import "slices"

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
	// Shares divide them first, nil for no shares. No slice is at a level above.
	Shares *Shares
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
	// Late says that there may be better ones: time was up before all were compared.
	Late bool
	cost cost
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
	// Share is the share that has no room there, 0 if it is not about one.
	Share int
}

// packing is one search in a tree.
type packing struct {
	tree *Tree
	ask  *Ask
	// slotsOfNodes are by the index of a node, and slots are of each domain, in whole slices.
	slotsOfNodes, slots []int32
	free                []int32 // slots of each domain that a slice may leave over, too
	there               []int32 // pods of the gang in each domain already
	// nodesLast says that how few nodes are used counts only after balance, which is asked for at a level of labels.
	nodesLast bool
	tables    map[key]*table
	bounds    *bounds
	scratch   []cost
	late      func() bool
	cut       bool // it was late
}

func newPacking(t *Tree, slots []int32, ask *Ask, late func() bool) *packing {
	size := len(t.domains)
	p := &packing{
		tree:         t,
		ask:          ask,
		slotsOfNodes: slots,
		slots:        make([]int32, size),
		free:         make([]int32, size),
		there:        make([]int32, size),
		tables:       map[key]*table{},
		nodesLast:    ask.Balanced > 0 && ask.Balanced <= t.Levels,
		late:         late,
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
		step := int32(ask.step(d.level)) //nolint:gosec // a gang has no more members
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
// returns no division but what is lacking if there is not enough room. If it is late before it has compared all, the division is
// one that a simple rule makes, and neither is returned if that finds none.
func (t *Tree) Pack(slots []int32, ask *Ask, late func() bool) (*Division, *Lack) {
	if ask.Shares != nil {
		return t.packShares(slots, ask, late)
	}
	p := newPacking(t, slots, ask, late)
	candidates, lack := p.candidates()
	if len(candidates) == 0 {
		return nil, lack
	}
	simple := p.simple(candidates)
	p.bounds = p.boundsBy(simple)
	chosen, least := int32(-1), never()
	for _, d := range candidates {
		if c := p.costs(d).of(ask.Pods); c.possible() {
			if c = c.plus(p.above(d)); c.less(least) {
				chosen, least = d, c
			}
		}
	}
	switch {
	case p.cut:
		return simple, nil
	case chosen < 0:
		return nil, lack
	}
	division := &Division{Within: t.domains[chosen].example}
	p.divide(chosen, ask.Pods, division)
	t.sort(division)
	return division, nil
}

// candidates returns the domains that have room for all pods, and how far others are from that.
func (p *packing) candidates() (candidates []int32, lack *Lack) {
	lack = &Lack{Within: -1}
	for _, d := range p.tree.at(p.ask.Required) {
		domain := &p.tree.domains[d]
		if p.ask.Required > 0 && domain.lacks || p.there[d] < p.there[0] || p.excepted(d) {
			continue
		}
		if lack.Domains++; lack.Within < 0 || int(p.slots[d]) > lack.Pods {
			lack.Within, lack.Pods = domain.example, int(p.slots[d])
		}
		if int(p.slots[d]) >= p.ask.Pods && p.whole(d, p.ask.Pods) {
			candidates = append(candidates, d)
		}
	}
	return candidates, lack
}

// above returns what the domains add that a domain is in.
func (p *packing) above(d int32) (c cost) {
	for at := p.tree.domains[d].parent; at > 0; at = p.tree.domains[at].parent {
		c = c.plus(p.own(at)).plus(p.uneven(at, p.ask.Pods))
	}
	return c
}

func (t *Tree) sort(division *Division) {
	slices.SortFunc(division.Nodes, func(a, b Share) int { return int(t.place[a.Node] - t.place[b.Node]) })
}

// Whole returns how many of a number of pods make whole slices with the ones that are there, or all shares.
func (a *Ask) Whole(pods int) int {
	there := 0
	for _, share := range a.There {
		there += share.Pods
	}
	switch {
	case a.Shares != nil && there+pods < a.Shares.total():
		return 0
	case a.Shares != nil:
		return max(0, a.Shares.total()-there)
	case len(a.Slices) == 0:
		return pods
	}
	return max(0, (there+pods)/a.Slices[0].Size*a.Slices[0].Size-there)
}

// excepted reports whether a domain is left out.
func (p *packing) excepted(d int32) bool {
	return slices.ContainsFunc(p.ask.Except, func(node int32) bool { return p.tree.within(node, d) })
}

// step returns of what number the pods in a domain of a level are a multiple: of the largest slice that such a domain has whole.
func (a *Ask) step(level int) int {
	for _, s := range a.Slices {
		if s.Level == level {
			return s.Size
		}
	}
	return 1
}

// unit is step for slices of domains below, too: of that number the pods are a multiple where none were there before.
func (a *Ask) unit(level int) int {
	for _, s := range a.Slices {
		if s.Level >= level {
			return s.Size
		}
	}
	return 1
}

// whole reports whether a number of pods makes whole slices in a domain.
func (p *packing) whole(d int32, pods int) bool {
	return (int(p.there[d])+pods)%p.ask.step(p.tree.domains[d].level) == 0
}
