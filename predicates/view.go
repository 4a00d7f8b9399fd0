package predicates

import (
	"slices"

	"muster.dev/muster/cluster"
)

// View tells a profile's verdicts on a pod on the nodes of one snapshot. It must be closed, and used by one
// goroutine.
type View struct {
	Snapshot *cluster.Snapshot

	store     *VerdictStore
	entry     *entry     // nil for a pod without a class
	judgement *Judgement // the entry's, if there is one
	scratch   *scratch
	trial     *Trial    // of a class, while the pod is supposed to count nowhere; see ViewWithout
	verdicts  []Verdict // of a pod without a class, by node index, after JudgeAll
}

// View judges a pod on the present snapshot.
func (s *VerdictStore) View(pod *cluster.Pod) View {
	class := s.classes.of(pod)
	if class.None() {
		s.metrics.lookups.WithLabelValues(s.Profile.Name, lookupNoClass).Inc()
		return s.ViewAlone(pod)
	}
	view, result := s.look(class, pod)
	view.entry.calls++
	s.metrics.lookups.WithLabelValues(s.Profile.Name, result).Inc()
	return view
}

// ViewAlone is View for a pod that is not to be remembered, whatever its class.
func (s *VerdictStore) ViewAlone(pod *cluster.Pod) View {
	snap := s.cluster.Snapshot()
	return View{Snapshot: snap, store: s, judgement: s.Profile.judge(pod, snap, s.helpers), scratch: s.scratch()}
}

// ViewWithout is View for a pod that counts on a node, by name, which is judged as if it did
// not. The snapshot is the real one: what fits may be assumed on the state that it shows.
func (s *VerdictStore) ViewWithout(pod *cluster.Pod, on string) View {
	view := s.View(pod)
	node := view.Snapshot.NodeByName(on)
	if node == nil {
		return view
	}
	without := node.WithoutPod(pod.UID)
	switch {
	case without == node:
	case view.entry == nil:
		view.judgement.Suppose(without)
	default:
		view.trial = view.try()
		ready := false
		defer func() {
			if !ready { // a plugin panicked
				view.Close()
			}
		}()
		view.trial.Suppose(without, pod, view.entry.class, func(int32, bool) {})
		ready = true
	}
	return view
}

// Refresh has the class of a pod, which must have one, judged on all nodes of the present snapshot, so that the
// next call hardly waits.
func (s *VerdictStore) Refresh(pod *cluster.Pod) {
	view, _ := s.look(s.classes.of(pod), pod)
	defer view.Close()
	view.entry.complete(view.Snapshot, s.helpers)
}

// look brings what is remembered of a class up to date, and says whether something was.
func (s *VerdictStore) look(class Class, pod *cluster.Pod) (view View, result string) {
	e := s.use(class)
	e.mu.Lock()
	ready := false
	defer func() {
		if !ready { // a plugin panicked: the call fails, and the class is judged from scratch
			e.judgement, e.evaluated = nil, nil
			e.mu.Unlock()
		}
	}()
	missed, started := e.misses, s.clock.Now()
	// Taken under the entry's lock, so that an entry only ever moves forward.
	view = View{Snapshot: s.cluster.Snapshot(), store: s, entry: e, scratch: s.scratch()}
	e.update(s.Profile, pod, view.Snapshot, view.scratch, s.helpers, started)
	e.name(pod)
	view.judgement = e.judgement
	result = lookupHit
	if e.misses > missed {
		result = lookupMiss
	}
	s.metrics.evaluation.WithLabelValues(s.Profile.Name, result).Observe(s.clock.Since(started).Seconds())
	s.account(e, view.Snapshot)
	ready = true
	return view, result
}

// Verdict returns the first verdict against the node of that index in the view's
// snapshot, in the order of the profile, or Fits. It is UnknownNode for a negative
// index.
func (v *View) Verdict(index int32) Verdict {
	switch {
	case index < 0:
		return UnknownNode
	case v.trial != nil:
		return v.trial.Verdict(index)
	case v.entry != nil:
		return v.entry.verdict(index, v.Snapshot)
	case v.verdicts != nil && v.verdicts[index] != unjudged:
		return v.verdicts[index]
	}
	return v.judgement.Verdict(v.judgement.node(index))
}

// Node returns the node of an index as it is judged.
func (v *View) Node(index int32) *cluster.Node {
	switch {
	case v.trial != nil:
		return v.trial.Node(index)
	case v.entry == nil:
		return v.judgement.node(index)
	}
	return v.Snapshot.Node(index)
}

// Basis returns the basis of the verdict on the node of that index: where the pod fits, it may be assumed there.
func (v *View) Basis(index int32) cluster.Basis {
	return v.judgement.Basis(v.Snapshot.Node(index), v.Snapshot.Generation)
}

// Reason returns the text of a verdict; see [Profile.Reason].
func (v *View) Reason(verdict Verdict) string {
	return v.judgement.Reason(verdict)
}

// Rank sets totals[i] to the weighted sum of the scores of the node nodes[i], an index
// into the view's snapshot; see [Judgement.Rank].
func (v *View) Rank(nodes []int32, totals []int64) {
	if v.entry == nil {
		v.judgement.Rank(nodes, totals)
		return
	}
	for i, index := range nodes {
		totals[i] = int64(v.entry.total(index, v.Snapshot))
	}
	v.scratch.ratings = slices.Grow(v.scratch.ratings[:0], len(nodes))[:len(nodes)]
	v.judgement.compare(nodes, nil, totals, v.scratch.ratings)
}

// Close lets others ask about the same class.
func (v *View) Close() {
	if v.trial != nil {
		v.trial.Close()
		return
	}
	if v.entry != nil {
		v.store.metrics.report(v.store.Profile, v.entry.evaluated)
		v.entry.evaluated = nil
		v.entry.mu.Unlock()
	}
	v.store.scratches.Put(v.scratch)
}
