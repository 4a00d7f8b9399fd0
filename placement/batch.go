package placement

import (
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// batch places pods of one kind, one after the other.
//
// Nodes that every comparison rates alike, and of which other nodes rule out all or
// none, form a group; within one, the node that scores highest for itself is the best
// one, whatever the company. So the best node of all is the best of the few that lead
// their groups, and a pod costs as much as there are groups, not nodes.
type batch struct {
	pod    *cluster.Pod // any of them
	trial  *predicates.Trial
	salt   uint64 // of tickets
	seen   int    // how many moves of the plan the trial knows
	groups []*group
	byKey  map[uint64]*group
	filed  []filing // by node index

	leaders []*group // memory for one choice
	nodes   []int32
	sizes   []int32
	totals  []int64
}

// filing is where a node is filed.
type filing struct {
	group *group // nil for a node that does not fit
	turn  uint32 // how often it was filed
}

// newBatch files all nodes of a snapshot.
func newBatch(pod *cluster.Pod, trial *predicates.Trial, salt uint64) *batch {
	b := &batch{pod: pod, trial: trial, salt: salt, byKey: map[uint64]*group{}}
	b.filed = make([]filing, trial.Snapshot().IndexEnd())
	for node := range trial.Snapshot().Nodes() {
		b.file(node.Index)
	}
	return b
}

// follow takes in the moves of a plan since it was last here.
func (b *batch) follow(p *Plan) {
	for i := range p.log[b.seen:] {
		m := &p.log[b.seen+i]
		b.trial.Suppose(p.Node(m.index), m.pod, m.kind, b.file)
	}
	b.seen = len(p.log)
}

// file puts a node into the group where it belongs now.
func (b *batch) file(index int32) {
	at := &b.filed[index]
	if at.group != nil {
		at.group.size--
		at.group = nil
	}
	at.turn++
	if !b.trial.Stands(index) {
		return
	}
	key := b.trial.Group(index)
	g := b.byKey[key]
	if g == nil {
		g = &group{key: key}
		b.groups, b.byKey[key] = append(b.groups, g), g
	}
	g.size++
	at.group = g
	g.push(contender{
		index: index, turn: at.turn, alone: b.trial.Alone(index),
		left: float32(Leftover(b.pod, b.trial.Node(index))), ticket: b.ticket(index),
	})
}

// ticket is a number that the node drew for this batch.
func (b *batch) ticket(index int32) uint32 {
	drawn := (b.salt ^ uint64(index)) * 0x9e3779b97f4a7c15 //nolint:gosec // indexes are not negative
	drawn = (drawn ^ drawn>>32) * 0xd6e8feb86659fd93
	return uint32(drawn >> 32)
}

// best is the node with the highest total, -1 when the pods fit nowhere.
func (b *batch) best() int32 {
	b.leaders, b.nodes, b.sizes, b.totals = b.leaders[:0], b.nodes[:0], b.sizes[:0], b.totals[:0]
	for i := 0; i < len(b.groups); {
		g := b.groups[i]
		if !b.lead(g) {
			b.drop(i)
			continue
		}
		i++
		first := &g.contenders[0]
		if b.trial.Verdict(first.index) != predicates.Fits {
			continue // as on all nodes of the group, until a pod elsewhere comes or goes
		}
		b.leaders = append(b.leaders, g)
		b.nodes, b.sizes, b.totals = append(b.nodes, first.index), append(b.sizes, g.size), append(b.totals, int64(first.alone))
	}
	b.trial.Compare(b.nodes, b.sizes, b.totals)
	best := -1
	for i, g := range b.leaders {
		if best < 0 || b.totals[i] > b.totals[best] ||
			b.totals[i] == b.totals[best] && g.contenders[0].winsTie(&b.leaders[best].contenders[0]) {
			best = i
		}
	}
	if best < 0 {
		return -1
	}
	return b.nodes[best]
}

// lead brings to the front of a group the best of its nodes. It says false when there is
// none.
func (b *batch) lead(g *group) bool {
	g.order()
	for len(g.contenders) > 0 {
		if first := &g.contenders[0]; b.filed[first.index] == (filing{g, first.turn}) {
			return true
		}
		g.pop()
	}
	return false
}

// drop removes a group without nodes. One of that key may come anew.
func (b *batch) drop(i int) {
	last := len(b.groups) - 1
	delete(b.byKey, b.groups[i].key)
	b.groups[i] = b.groups[last]
	b.groups[last] = nil
	b.groups = b.groups[:last]
}
