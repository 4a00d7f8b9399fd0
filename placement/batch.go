package placement

import (
	"container/heap"
	"math/rand/v2"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// batch places pods of one class, one after the other.
//
// Nodes that every comparison rates alike form a group; within one, the node that
// scores highest for itself is the best one, whatever the company. So the best node of
// all is the best of the few that lead their groups, and a pod costs as much as there
// are groups, not nodes.
type batch struct {
	trial  *predicates.Trial
	groups map[uint64]*group
	member []*group // by node index: the group in which the pods fit it; nil if they do not
	ticket []uint32 // by node index: of equals, the lowest wins
	seen   int      // how many entries of the plan's log the trial knows

	leaders []*group // memory for one choice
	nodes   []int32
	sizes   []int32
	totals  []int64
}

// newBatch files all nodes of a snapshot.
func newBatch(trial *predicates.Trial, snap *cluster.Snapshot, random *rand.Rand) *batch {
	b := &batch{trial: trial, groups: map[uint64]*group{}}
	b.member, b.ticket = make([]*group, snap.IndexEnd()), make([]uint32, snap.IndexEnd())
	for node := range snap.Nodes() {
		b.ticket[node.Index] = random.Uint32()
		b.file(node.Index)
	}
	return b
}

// follow takes in the nodes of a plan that changed since it was last here.
func (b *batch) follow(p *Plan) {
	for _, index := range p.log[b.seen:] {
		if node := p.nodes[index]; node != b.trial.Node(index) {
			b.trial.Suppose(node, b.file)
		}
	}
	b.seen = len(p.log)
}

// file puts a node into the group where it belongs now.
func (b *batch) file(index int32) {
	if was := b.member[index]; was != nil {
		was.size--
		b.member[index] = nil
	}
	if b.trial.Verdict(index) != predicates.Fits {
		return
	}
	key := b.trial.Group(index)
	g := b.groups[key]
	if g == nil {
		g = &group{}
		b.groups[key] = g
	}
	g.size++
	b.member[index] = g
	heap.Push(g, contender{index: index, alone: b.trial.Alone(index), ticket: b.ticket[index]})
}

// best is the node with the highest total, -1 when the pods fit nowhere.
func (b *batch) best() int32 {
	b.leaders, b.nodes, b.sizes, b.totals = b.leaders[:0], b.nodes[:0], b.sizes[:0], b.totals[:0]
	for key, g := range b.groups {
		if !b.lead(g) {
			delete(b.groups, key)
			continue
		}
		first := g.contenders[0]
		b.leaders = append(b.leaders, g)
		b.nodes, b.sizes, b.totals = append(b.nodes, first.index), append(b.sizes, g.size), append(b.totals, first.alone)
	}
	b.trial.Compare(b.nodes, b.sizes, b.totals)
	best := -1
	for i, g := range b.leaders {
		if best < 0 || b.totals[i] > b.totals[best] ||
			b.totals[i] == b.totals[best] && g.contenders[0].ticket < b.leaders[best].contenders[0].ticket {
			best = i
		}
	}
	if best < 0 {
		return -1
	}
	return b.nodes[best]
}

// lead brings to the front of a group the best node that is still what it was when it
// was filed. It says false when there is none.
func (b *batch) lead(g *group) bool {
	for len(g.contenders) > 0 {
		first := g.contenders[0]
		if b.member[first.index] == g && b.trial.Alone(first.index) == first.alone {
			return true
		}
		heap.Pop(g)
	}
	return false
}

// group is the nodes of one group, the best first.
type group struct {
	contenders []contender
	size       int32 // how many nodes are in it; contenders may hold more, out of date
}

type contender struct {
	index  int32
	alone  int64
	ticket uint32
}

func (g *group) Len() int { return len(g.contenders) }

func (g *group) Less(i, j int) bool {
	a, b := &g.contenders[i], &g.contenders[j]
	if a.alone != b.alone {
		return a.alone > b.alone
	}
	return a.ticket < b.ticket
}

func (g *group) Swap(i, j int) { g.contenders[i], g.contenders[j] = g.contenders[j], g.contenders[i] }

func (g *group) Push(x any) { g.contenders = append(g.contenders, x.(contender)) }

func (g *group) Pop() any {
	last := len(g.contenders) - 1
	x := g.contenders[last]
	g.contenders = g.contenders[:last]
	return x
}
