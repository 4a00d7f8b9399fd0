package placement

import (
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// batch places pods of one kind, one after the other.
//
// Nodes that every comparison rates alike, and that other nodes rule out all together or not at all, form a
// group. Within a group, the node that scores highest for itself is the best one, whatever the company. So the
// best node of all is the best of the few that lead their groups, and a pod costs one step per group instead of
// one per node.
type batch struct {
	pod    *cluster.Pod // any of them
	trial  *predicates.Trial
	avoid  map[int32]bool // nodes
	shut   []int32        // nodes that only the pod which is being placed must not come to
	salt   uint64         // of tickets
	seen   int            // how many moves of the plan the trial knows
	groups []*group
	byKey  map[uint64]int32 // places in groups
	filed  []filing         // by node index

	leaders []*group // memory for one choice
	nodes   []int32
	sizes   []int32
	totals  []int64
}

// filing is where a node is filed.
type filing struct {
	group int32  // its place, noGroup for a node that does not fit
	turn  uint32 // how often it was filed
}

const noGroup = -1

// newBatch files all nodes of a snapshot.
func newBatch(pod *cluster.Pod, trial *predicates.Trial, avoid map[int32]bool, salt uint64) *batch {
	snap := trial.Snapshot()
	b := &batch{pod: pod, trial: trial, avoid: avoid, salt: salt, byKey: map[uint64]int32{}, filed: make([]filing, snap.IndexEnd())}
	filed := 0
	for i := range b.filed {
		index := int32(i)
		b.filed[i].group = noGroup
		if snap.Node(index) != nil && b.stands(index) {
			b.join(index)
			filed++
		}
	}
	memory := make([]contender, filed)
	for _, g := range b.groups {
		g.other, memory = memory[:0:g.size], memory[g.size:]
	}
	for i, at := range b.filed {
		if at.group != noGroup {
			b.contend(int32(i), at)
		}
	}
	return b
}

// follow takes in the moves of a plan since it was last here.
func (b *batch) follow(p *Plan) {
	b.seen = p.Tell(b.trial, b.seen, p.kinds.of, b.file)
}

// file puts a node into the group where it belongs now, which may be another one than it
// was or not.
func (b *batch) file(index int32, another bool) {
	at := &b.filed[index]
	at.turn++
	stands := b.stands(index)
	if at.group != noGroup && (another || !stands) {
		b.groups[at.group].size--
		at.group = noGroup
	}
	if !stands {
		return
	}
	if at.group == noGroup {
		b.join(index)
	}
	b.contend(index, *at)
}

// stands reports whether the pods may come to a node, as far as that can be said for itself.
func (b *batch) stands(index int32) bool {
	return !b.avoid[index] && !slices.Contains(b.shut, index) && b.trial.Stands(index)
}

// bestBut returns the best node of all but some.
func (b *batch) bestBut(some []int32) int32 {
	refile := func(shut []int32) {
		b.shut = shut
		for _, index := range some {
			b.file(index, false)
		}
	}
	refile(some)
	defer refile(nil)
	return b.best()
}

// join makes a node one of the group where it belongs.
func (b *batch) join(index int32) {
	place := b.group(b.trial.Group(index))
	b.filed[index].group = place
	b.groups[place].size++
}

// contend enters a node in the contest of its group.
func (b *batch) contend(index int32, at filing) {
	b.groups[at.group].push(contender{
		index: index, turn: at.turn,
		alone: b.trial.Alone(index), misfit: float32(Misfit(b.pod, b.trial.Node(index))),
	})
}

// group returns the place of the group with a key.
func (b *batch) group(key uint64) int32 {
	place, known := b.byKey[key]
	if !known {
		place = int32(len(b.groups)) //nolint:gosec // no more than there are nodes and moves
		b.groups, b.byKey[key] = append(b.groups, newGroup(b.salt)), place
	}
	return place
}

// best returns the node with the highest total, -1 when the pods fit nowhere.
func (b *batch) best() int32 {
	b.leaders, b.nodes, b.sizes, b.totals = b.leaders[:0], b.nodes[:0], b.sizes[:0], b.totals[:0]
	for place, g := range b.groups {
		if !b.lead(int32(place), g) {
			continue
		}
		first := g.first()
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
			b.totals[i] == b.totals[best] && g.first().winsTie(b.leaders[best].first(), b.salt) {
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
func (b *batch) lead(place int32, g *group) bool {
	if g.size == 0 {
		g.clear()
		return false
	}
	for {
		if first := g.first(); b.filed[first.index] == (filing{place, first.turn}) {
			return true
		}
		g.pop()
	}
}
