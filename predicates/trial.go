package predicates

import (
	"maps"
	"slices"

	"muster.dev/muster/cluster"
)

// Trial is what a profile says of the pods of one class while nodes are supposed to be
// in other states: what would be if pods came or went. It starts from what is
// remembered of the class, and holds it: who else asks about the class waits until
// Close, which takes every supposition back. It belongs to one goroutine, and a
// goroutine that holds trials must be the only one that does.
type Trial struct {
	store    *VerdictStore
	entry    *entry
	snap     *cluster.Snapshot
	supposed map[int32]*cluster.Node
	scratch  *scratch
}

// supposable is what may differ in a supposed state of a node: the pods on it.
const supposable = cluster.AspectRequested | cluster.AspectPorts | cluster.AspectPods

// Try begins a trial for the class of a pod, which must have one, on the present
// snapshot.
func (s *VerdictStore) Try(pod *cluster.Pod) *Trial {
	view := s.View(pod)
	return &Trial{store: s, entry: view.entry, snap: view.Snapshot, supposed: map[int32]*cluster.Node{}, scratch: view.scratch}
}

// TryAlone begins a trial for one pod on a snapshot. It holds and remembers nothing.
func (s *VerdictStore) TryAlone(pod *cluster.Pod, snap *cluster.Snapshot) *Trial {
	t := &Trial{store: s, entry: &entry{class: &Class{}}, supposed: map[int32]*cluster.Node{}, scratch: s.scratch()}
	t.entry.mu.Lock()
	t.Advance(pod, snap)
	return t
}

// ClassOf is the equivalence class of a pod, nil for one that is judged for itself. Pods
// of one class get the same pointer while the class is remembered.
func (s *VerdictStore) ClassOf(pod *cluster.Pod) *Class { return s.classes.of(pod) }

// Snapshot is the one that the trial is about.
func (t *Trial) Snapshot() *cluster.Snapshot { return t.snap }

// Advance moves a trial without suppositions to a snapshot that is not older than its
// own, so that several trials are about one. The pod is any of the class.
func (t *Trial) Advance(pod *cluster.Pod, snap *cluster.Snapshot) {
	t.entry.update(t.store.Profile, pod, snap, t.scratch, t.store.clock.Now())
	t.snap = snap
}

// Node is the supposed state of a node, or its own; nil when there is none.
func (t *Trial) Node(index int32) *cluster.Node {
	if node, ok := t.supposed[index]; ok {
		return node
	}
	return t.snap.Node(index)
}

// Suppose puts another state of a node in the place of its present one; only the pods
// on it may differ. It calls changed with the index of every node whose verdict or
// score may be another one now, this one included.
func (t *Trial) Suppose(node *cluster.Node, changed func(index int32)) {
	t.supposed[node.Index] = node
	t.apply(node, changed)
}

func (t *Trial) apply(node *cluster.Node, changed func(index int32)) {
	e, j := t.entry, t.entry.judgement
	kinds := t.kinds()
	j.suppose(t.snap, node)
	e.evaluate(node, supposable)
	changed(node.Index)
	if t.kinds() != kinds {
		for other := range t.snap.Nodes() {
			changed(other.Index)
		}
	}
	for i, check := range j.checks {
		spanning, ok := check.(Spanning)
		if !ok {
			continue
		}
		spanning.Turned(func(index int32) {
			other := t.Node(index)
			if other == nil {
				return
			}
			before := e.first[index]
			if e.ask(i, other, causeOthers); e.first[index] != before {
				changed(index)
			}
		})
	}
}

// Verdict is the first verdict against the node of that index, or Fits.
func (t *Trial) Verdict(index int32) Verdict { return t.entry.first[index] }

// Alone is the weighted sum of those scores of a node that do not hang on the company.
func (t *Trial) Alone(index int32) int64 { return int64(t.entry.totals[index]) }

// Group is the same for nodes that every Comparison rates alike, whichever nodes they
// are compared with.
func (t *Trial) Group(index int32) uint64 {
	group := uint64(0)
	for _, rating := range t.entry.judgement.ratings {
		if rating.Among != nil {
			group = mix(group, rating.Among.Group(index))
		}
	}
	return group
}

// regrouping is a Comparison that may come to see differences between nodes to which it
// was blind before, when a pod comes that cares for them.
type regrouping interface {
	// kinds of differences that it sees. When there are more, groups are other ones.
	kinds() int
}

func (t *Trial) kinds() int {
	kinds := 0
	for _, rating := range t.entry.judgement.ratings {
		if r, ok := rating.Among.(regrouping); ok {
			kinds += r.kinds()
		}
	}
	return kinds
}

// ofDomain is the part of a group that stands for a failure domain with several nodes:
// whatever becomes of the domain, it becomes of all of them.
func ofDomain(domain int32) uint64 { return uint64(uint32(domain)) } //nolint:gosec // -1 is one as well

// ofAmount is the part of a group that stands for what one node has for itself.
func ofAmount(amount int32) uint64 { return 1<<32 | uint64(uint32(amount)) } //nolint:gosec // negative ones as well

// mix makes one number of two, spread over all bits.
func mix(a, b uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15 // the golden ratio
	mixed := (a ^ b) * odd
	return mixed ^ mixed>>29
}

// Compare adds to totals[i] the weighted sum of what the comparisons say of the node
// nodes[i], which stands for sizes[i] nodes of its group.
func (t *Trial) Compare(nodes, sizes []int32, totals []int64) {
	t.scratch.ratings = slices.Grow(t.scratch.ratings[:0], len(nodes))[:len(nodes)]
	t.entry.judgement.compare(nodes, sizes, totals, t.scratch.ratings)
}

// Close takes all suppositions back and lets others ask about the class.
func (t *Trial) Close() {
	touched := slices.Collect(maps.Keys(t.supposed))
	clear(t.supposed)
	for _, index := range touched {
		t.apply(t.snap.Node(index), func(int32) {})
	}
	t.store.scratches.Put(t.scratch)
	t.entry.mu.Unlock()
}
