package predicates

import (
	"math/bits"
	"slices"

	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
)

// Trial tells a profile's verdicts on the pods of one class while nodes are supposed to be in other states:
// what would be if pods came or went. It starts from the memory of the class, and holds the class: others who
// ask about the class wait until Close, which takes every supposition back. It belongs to one goroutine. One
// goroutine at a time may hold several trials of a store: see [VerdictStore.BeginTrials].
//
// A supposed pod costs as much whatever the number of nodes: [Spanning] checks are not
// asked again about the nodes of a failure domain, but about a node when it is looked at.
// See Group.
type Trial struct {
	store   *VerdictStore
	entry   *entry
	snap    *cluster.Snapshot
	scratch *scratch

	spanning    uint32           // bit i is set for a check that is Spanning
	alone       []int            // the other checks that a pod on the node may turn
	digests     []digest         // of the judgement
	regroupings []regrouping     // among them
	minded      map[Class]uint64 // which digests mind pods of a class, by bit

	suppositions []supposition // in memory of the scratch, as at is
	at           []int32       // by node index: one more than the place of the one about it, 0 for none
}

// digest is one of a trial's.
type digest struct {
	Digest
	bit uint64
}

// supposition is a node in another state.
type supposition struct {
	node *cluster.Node
	told uint64 // the digests that know of it, by bit
	// The memory of the node.
	against uint32
	first   Verdict
	total   int32
}

// supposable are the aspects that may differ in a supposed state of a node: the pods on it.
const supposable = cluster.AspectRequested | cluster.AspectPorts | cluster.AspectPods

// BeginTrials waits until nobody else has several trials of the store: two who do could wait
// for each other's classes. EndTrials must follow.
func (s *VerdictStore) BeginTrials() { s.trials.Lock() }

// EndTrials lets others have trials.
func (s *VerdictStore) EndTrials() { s.trials.Unlock() }

// Try begins a trial for the class of a pod, which must have one, on the present
// snapshot.
func (s *VerdictStore) Try(pod *cluster.Pod) *Trial {
	view, _ := s.look(s.classes.of(pod), pod)
	return view.try()
}

// try begins a trial for the class of a view, which goes over to it. If a plugin panics, the view is closed.
func (v *View) try() *Trial {
	t := &Trial{store: v.store, entry: v.entry, snap: v.Snapshot, scratch: v.scratch}
	ready := false
	defer func() {
		if !ready {
			v.Close()
		}
	}()
	t.entry.complete(t.snap, t.store.helpers)
	t.store.metrics.report(t.store.Profile, t.entry.evaluated) // an advance resets the counts
	t.prepare()
	ready = true
	return t
}

// TryAlone begins a trial for a pod, and others that are equal to it, on a snapshot. It
// holds and remembers nothing.
func (s *VerdictStore) TryAlone(pod *cluster.Pod, snap *cluster.Snapshot) *Trial {
	t := &Trial{store: s, entry: &entry{mu: lock.New(lock.Class)}, scratch: s.scratch()}
	t.entry.mu.Lock()
	t.Advance(pod, snap)
	return t
}

// ClassOf returns the equivalence class of a pod, none for one that is judged for itself.
func (s *VerdictStore) ClassOf(pod *cluster.Pod) Class { return s.classes.of(pod) }

// Clock returns where the store has its time from.
func (s *VerdictStore) Clock() clock.PassiveClock { return s.clock }

// Snapshot returns the snapshot that the trial is about.
func (t *Trial) Snapshot() *cluster.Snapshot { return t.snap }

// Advance moves a trial without suppositions to a snapshot that is not older than its
// own, so that several trials are about one. The pod is any of the class.
func (t *Trial) Advance(pod *cluster.Pod, snap *cluster.Snapshot) {
	t.entry.update(t.store.Profile, pod, snap, t.scratch, t.store.helpers, t.store.clock.Now())
	t.entry.complete(snap, t.store.helpers)
	t.snap = snap
	t.prepare()
}

// prepare sorts the plugins by the work to do with them.
func (t *Trial) prepare() {
	j := t.entry.judgement
	t.spanning, t.alone, t.digests, t.regroupings = 0, nil, nil, nil
	t.minded = map[Class]uint64{}
	for i, check := range j.checks {
		if _, ok := check.(Spanning); ok {
			t.spanning |= 1 << i
		} else if check != nil && j.profile.predicates[i].Aspects()&supposable != 0 {
			t.alone = append(t.alone, i)
		}
		if d, ok := check.(Digest); ok {
			t.add(d, 1<<i)
		}
	}
	for i, rating := range j.ratings {
		if rating.Among != nil {
			t.add(rating.Among, 1<<(mostPredicates+i))
		}
	}
}

func (t *Trial) add(d Digest, bit uint64) {
	t.digests = append(t.digests, digest{d, bit})
	if r, ok := d.(regrouping); ok {
		t.regroupings = append(t.regroupings, r)
	}
}

// Node returns the supposed state of a node, or its own; nil when there is none.
func (t *Trial) Node(index int32) *cluster.Node {
	if index >= 0 && int(index) < len(t.at) && t.at[index] > 0 {
		return t.suppositions[t.at[index]-1].node
	}
	return t.snap.Node(index)
}

// Suppose puts another state of a node in the place of its present one, since a pod came
// or went; only the pods on it may differ. The class is the pod's, or another one of all pods like it.
// When several did, it is told of each, at any of the states from then on. It calls
// changed with the index of every node whose Alone or Stands may be another one now, this
// one included, and says whether its Group may be, too.
func (t *Trial) Suppose(node *cluster.Node, pod *cluster.Pod, class Class, changed func(index int32, group bool)) {
	minded, s := t.minding(pod, class), t.about(node.Index)
	if s.node == node && minded == 0 {
		return
	}
	s.node, s.told = node, s.told|minded
	kinds := t.kinds()
	for _, d := range t.digests {
		if minded&d.bit != 0 {
			d.Suppose(t.snap, node)
		}
	}
	t.evaluate(node)
	changed(node.Index, minded != 0)
	if t.kinds() != kinds {
		for other := range t.snap.Nodes() {
			changed(other.Index, true)
		}
	}
}

// about finds or makes the supposition about a node.
func (t *Trial) about(index int32) *supposition {
	if t.at == nil {
		t.at, t.suppositions = atLeast(t.scratch.supposed, t.snap.IndexEnd()), t.scratch.suppositions
	}
	if t.at[index] == 0 {
		e := t.entry
		t.suppositions = append(t.suppositions, supposition{against: e.against[index], first: e.first[index], total: e.totals[index]})
		t.at[index] = int32(len(t.suppositions)) //nolint:gosec // at most one for each node
	}
	return &t.suppositions[t.at[index]-1]
}

// evaluate asks the checks that look at the node alone.
func (t *Trial) evaluate(node *cluster.Node) {
	e := t.entry
	for _, i := range t.alone {
		cause := e.judgement.profile.predicates[i].Aspects() & supposable
		e.ask(i, node, bits.TrailingZeros32(uint32(cause)))
	}
	e.totals[node.Index] = e.judgement.alone(node)
}

// minding returns the digests that mind a pod, by bit.
func (t *Trial) minding(pod *cluster.Pod, class Class) uint64 {
	if minded, known := t.minded[class]; known {
		return minded
	}
	var minded uint64
	for _, d := range t.digests {
		if m, ok := d.Digest.(mindful); !ok || m.minds(pod) {
			minded |= d.bit
		}
	}
	t.minded[class] = minded
	return minded
}

// Minds reports whether a check may say something else of other nodes when a pod of a class comes to one.
func (t *Trial) Minds(pod *cluster.Pod, class Class) bool {
	return t.minding(pod, class)&(1<<mostPredicates-1) != 0
}

// Stands reports whether no check is against a node which looks at that node alone.
func (t *Trial) Stands(index int32) bool { return t.entry.against[index]&^t.spanning == 0 }

// Verdict returns the first verdict against the node of that index, or Fits.
func (t *Trial) Verdict(index int32) Verdict {
	node, asked := t.Node(index), t.entry.against[index]|t.spanning
	for asked != 0 {
		i := bits.TrailingZeros32(asked)
		if verdict := t.entry.judgement.checks[i].Verdict(node); verdict != Fits {
			return verdict
		}
		asked &^= 1 << i
	}
	return Fits
}

// Reason returns the text of a verdict; see [Profile.Reason].
func (t *Trial) Reason(verdict Verdict) string {
	return t.entry.judgement.Reason(verdict)
}

// Alone returns the weighted sum of the node's scores that do not depend on other nodes.
func (t *Trial) Alone(index int32) int32 { return t.entry.totals[index] }

// Compare adds to totals[i] the weighted sum of what the comparisons say of the node
// nodes[i], which stands for sizes[i] nodes of its group.
func (t *Trial) Compare(nodes, sizes []int32, totals []int64) {
	t.scratch.ratings = slices.Grow(t.scratch.ratings[:0], len(nodes))[:len(nodes)]
	t.entry.judgement.compare(nodes, sizes, totals, t.scratch.ratings)
}

// Close takes all suppositions back and lets others ask about the class.
func (t *Trial) Close() {
	e := t.entry
	defer e.mu.Unlock()
	if !e.class.None() {
		t.store.metrics.report(t.store.Profile, e.evaluated)
	}
	e.evaluated = nil
	for i := range t.suppositions {
		s := &t.suppositions[i]
		index := s.node.Index
		for _, d := range t.digests {
			if s.told&d.bit != 0 {
				d.Suppose(t.snap, t.snap.Node(index))
			}
		}
		e.against[index], e.first[index], e.totals[index] = s.against, s.first, s.total
		t.at[index] = 0
	}
	if t.at != nil {
		clear(t.suppositions) // a node must not be kept
		t.scratch.supposed, t.scratch.suppositions = t.at, t.suppositions[:0]
	}
	if e.judgement != nil { // else a plugin panicked
		for _, check := range e.judgement.checks {
			if spanning, ok := check.(Spanning); ok {
				spanning.Turned(func(int32) {}) // and back
			}
		}
	}
	t.store.scratches.Put(t.scratch)
}
