package placement

import (
	"math"
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

// kinds tells which pods are alike. The kind of a pod is its equivalence class. Pods
// without one are alike as well when no plugin can tell them apart: within one plan, what
// is known of one of them is as good for the next.
type kinds struct {
	store *predicates.VerdictStore
	known map[*cluster.Pod]predicates.Class
	left  map[predicates.Class]int // how many pods of a kind that is no class are yet to be placed
}

func newKinds(store *predicates.VerdictStore) *kinds {
	return &kinds{store: store, known: map[*cluster.Pod]predicates.Class{}, left: map[predicates.Class]int{}}
}

// expect takes note of pods that are going to be placed. It returns a pod of each
// equivalence class among them.
func (k *kinds) expect(pods []*cluster.Pod) map[predicates.Class]*cluster.Pod {
	examples := map[predicates.Class]*cluster.Pod{}
	for _, pod := range pods {
		kind := k.of(pod)
		if _, alone := k.left[kind]; alone {
			k.left[kind]++
		} else if examples[kind] == nil {
			examples[kind] = pod
		}
	}
	return examples
}

func (k *kinds) of(pod *cluster.Pod) predicates.Class {
	kind, known := k.known[pod]
	if known {
		return kind
	}
	if kind = k.store.ClassOf(pod); kind.None() {
		kind = k.store.Profile.AloneAs(pod)
		if _, met := k.left[kind]; !met {
			k.left[kind] = 0
		}
	}
	k.known[pod] = kind
	return kind
}

// placed takes note of a pod that was placed, and says whether it was the last of the
// expected ones of a kind that is not a class.
func (k *kinds) placed(pod *cluster.Pod) (kind predicates.Class, last bool) {
	kind = k.of(pod)
	left, alone := k.left[kind]
	if !alone {
		return kind, false
	}
	k.left[kind] = left - 1
	return kind, left <= 1
}
