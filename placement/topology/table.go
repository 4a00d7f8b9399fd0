package topology

import (
	"slices"
	"sort"
)

// table has what each number of pods in a part of a tree costs, up to all that have room and are asked for. Parts that are alike
// have one table.
//
// A table of steps serves parts that take any number of pods, or of whole slices. The cost counts the domains in use, full or not, so
// there are far fewer steps than pods. Where the number of pods itself matters, as for balance, a table has an entry for each number.
type table struct {
	id    int
	unit  int // pods are a multiple of it
	steps []step
	costs []cost // nil for a table of steps
}

// step is the least cost of room, and of any number of pods between that and the room of the step before.
type step struct {
	room int
	cost
}

// key names what a table is of: two parts together by their tables, or a domain of a level by the table of what is below it and
// its slots.
type key struct {
	first, second, level int
	slots, free, there   int32
}

// of returns what a number of pods costs.
func (t *table) of(pods int) cost {
	switch {
	case t.costs != nil && pods < len(t.costs):
		return t.costs[pods]
	case t.costs != nil || pods%t.unit != 0:
		return never()
	case pods == 0:
		return cost{}
	}
	at := sort.Search(len(t.steps), func(i int) bool { return t.steps[i].room >= pods })
	if at == len(t.steps) {
		return never()
	}
	return t.steps[at].cost
}

// room is how many pods a table goes up to.
func (t *table) room() int {
	switch {
	case t.costs != nil:
		return len(t.costs) - 1
	case len(t.steps) == 0:
		return 0
	}
	return t.steps[len(t.steps)-1].room
}

// counts reports whether the number of pods itself matters for domains of a level: where they or the ones below are balanced, and
// in slices that some pods were in before.
func (p *packing) counts(level int) bool {
	return p.ask.Balanced > 0 && level <= p.ask.Balanced || p.there[0] > 0 && len(p.ask.Slices) > 0
}

// costs returns the table of a domain.
func (p *packing) costs(d int32) *table {
	domain := &p.tree.domains[d]
	k := key{first: -1, level: domain.level, slots: p.slots[d], free: p.free[d], there: p.there[d]}
	var below *table
	if domain.node < 0 {
		below = p.together(p.filled(d), domain.level+1)
		k.first = below.id
	}
	return p.known(k, func() *table {
		if p.counts(domain.level) {
			return p.counted(d, below)
		}
		return p.stepped(d, below)
	})
}

// stepped returns the table of steps of a domain, made of the table of the domains below it.
func (p *packing) stepped(d int32, below *table) *table {
	steps := []step{{room: int(p.slots[d])}}
	if below != nil {
		steps = below.steps
	}
	level := p.tree.domains[d].level
	t, own, whole := &table{unit: p.ask.unit(level)}, p.own(d), p.ask.step(level)
	for _, s := range steps {
		room := min(s.room/whole*whole, p.ask.Pods)
		if c := s.plus(own); room > t.room() && p.bounds.allow(level, room, c) {
			t.steps = append(t.steps, step{room, c})
		}
	}
	return t
}

// counted returns the table of a domain with an entry for each number of pods, made likewise.
func (p *packing) counted(d int32, below *table) *table {
	t, own, level := &table{unit: 1, costs: make([]cost, min(int(p.slots[d]), p.ask.Pods)+1)}, p.own(d), p.tree.domains[d].level
	for pods := range t.costs {
		c := cost{}
		if below != nil {
			c = below.of(pods)
		}
		switch {
		case !p.whole(d, pods):
			c = never()
		case pods > 0 && c.possible():
			if c = c.plus(own).plus(p.uneven(d, pods)); !p.bounds.allow(level, pods, c) {
				c = never()
			}
		}
		t.costs[pods] = c
	}
	return t
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

// together returns the table of some domains of a level together.
func (p *packing) together(parts []part, level int) *table {
	switch len(parts) {
	case 0:
		return p.known(key{first: -1}, func() *table { return &table{unit: 1} })
	case 1:
		return parts[0].table
	}
	first, second := p.together(parts[:len(parts)/2], level), p.together(parts[len(parts)/2:], level)
	return p.known(key{first: first.id, second: second.id, level: -1}, func() *table {
		joined := p.join(first, second, level)
		t := &table{unit: first.unit}
		if p.counts(level) {
			t.costs = slices.Clone(joined)
			return t
		}
		least := never()
		for room, c := range slices.Backward(joined[1:]) {
			if c.less(least) {
				least = c
				t.steps = append(t.steps, step{room + 1, c})
			}
		}
		slices.Reverse(t.steps)
		return t
	})
}

// known returns the table of a key, which is made if there is none.
func (p *packing) known(k key, makes func() *table) *table {
	t := p.tables[k]
	if t == nil {
		t = makes()
		t.id = len(p.tables)
		p.tables[k] = t
	}
	return t
}

// rowsAtATime is how many rows are joined between two looks at the clock: each is as long as the other table.
const rowsAtATime = 64

// join returns the least costs of pods in two parts of a tree together, for tables of steps where a step of one and a step of the
// other end. They are valid until the next call.
func (p *packing) join(a, b *table, level int) []cost {
	most := min(a.room()+b.room(), p.ask.Pods)
	for len(p.scratch) <= most {
		p.scratch = append(p.scratch, cost{})
	}
	joined := p.scratch[:most+1]
	for i := range joined {
		joined[i] = never()
	}
	rows, others := a.entries(), b.entries()
	for i := range rows {
		if i%rowsAtATime == 0 && !p.cut {
			p.cut = p.late()
		}
		if p.cut {
			break
		}
		p.row(joined, rows[i], others, level)
	}
	return joined
}

// row joins one entry of a table with all of another.
func (p *packing) row(joined []cost, with step, others []step, level int) {
	steps := !p.counts(level)
	for i := range others {
		room, c := with.room+others[i].room, with.plus(others[i].cost)
		if room >= len(joined) {
			if !steps {
				return
			}
			room = len(joined) - 1
		}
		if c.less(joined[room]) && p.bounds.allow(level, room, c) {
			joined[room] = c
		}
		if steps && (room == len(joined)-1 || !p.bounds.allow(level, p.ask.Pods, c)) {
			return // further ones cost more
		}
	}
}

// entries are the steps of a table, or its possible entries, from no pods on.
func (t *table) entries() (entries []step) {
	if t.costs == nil {
		return append([]step{{}}, t.steps...)
	}
	for pods, c := range t.costs {
		if c.possible() {
			entries = append(entries, step{pods, c})
		}
	}
	return entries
}

// divide adds to a division how a number of pods in a domain is divided.
func (p *packing) divide(d int32, pods int, division *Division) {
	if node := p.tree.domains[d].node; node >= 0 {
		division.Nodes = append(division.Nodes, Share{node, pods})
		return
	}
	p.split(p.filled(d), pods, p.tree.domains[d].level+1, division)
}

// split is divide for domains of a level together.
func (p *packing) split(parts []part, pods, level int, division *Division) {
	switch {
	case pods == 0:
		return
	case len(parts) == 1:
		p.divide(parts[0].domain, pods, division)
		return
	}
	half := len(parts) / 2
	first, second := p.together(parts[:half], level), p.together(parts[half:], level)
	least, in := never(), 0
	for _, e := range slices.Backward(first.entries()) {
		n := min(e.room, pods)
		if e.room > n && p.counts(level) {
			continue
		}
		if rest := second.of(pods - n); rest.possible() {
			if c := e.plus(rest); c.less(least) {
				least, in = c, n
			}
		}
	}
	p.split(parts[:half], in, level, division)
	p.split(parts[half:], pods-in, level, division)
}
