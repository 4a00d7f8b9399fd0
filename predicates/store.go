package predicates

import (
	"container/list"
	"fmt"
	"sync"

	"muster.dev/muster/cluster"
)

// VerdictStore remembers, per equivalence class, what the predicates and scores of
// a profile said of every node. Asked again, it replays the cluster's journal and
// evaluates only those nodes and predicates whose declared aspects changed.
//
// A verdict is computed on an immutable snapshot and carries its generation, so a
// stale one cannot be written over a newer one. The least recently used classes
// are dropped beyond a bound in bytes. It is safe for concurrent use.
type VerdictStore struct {
	// Profile is whose verdicts these are.
	Profile *Profile

	cluster  *cluster.Cluster
	classes  *classes
	maxBytes int64
	metrics  *StoreMetrics

	scratches sync.Pool

	mu      sync.Mutex
	entries map[*Class]*list.Element // of *entry
	recent  *list.List               // most recently used first
	bytes   int64
}

// NewVerdictStore returns an empty store for the pods of a profile. maxBytes bounds
// what it remembers.
func NewVerdictStore(p *Profile, c *cluster.Cluster, maxBytes int64, m *StoreMetrics) *VerdictStore {
	return &VerdictStore{
		Profile: p, cluster: c, classes: newClasses(p.equivalence), maxBytes: maxBytes, metrics: m,
		scratches: sync.Pool{New: func() any { return new(scratch) }},
		entries:   map[*Class]*list.Element{}, recent: list.New(),
	}
}

// View is what a profile says about a pod on the nodes of one snapshot. It must be
// closed, and used by one goroutine.
type View struct {
	Snapshot *cluster.Snapshot
	profile  *Profile
	entry    *entry // nil for a pod without a class
	filter   Filter
	rank     Rank
}

// View judges a pod on the present snapshot.
func (s *VerdictStore) View(pod *cluster.Pod) View {
	class := s.classes.of(pod)
	if class == nil {
		s.metrics.lookups.WithLabelValues(s.Profile.Name, lookupNoClass).Inc()
		snap := s.cluster.Snapshot()
		return View{Snapshot: snap, profile: s.Profile, filter: s.Profile.Filter(pod, snap), rank: s.Profile.Rank(pod, snap)}
	}
	e := s.use(class)
	e.mu.Lock()
	ready := false
	defer func() {
		if !ready { // a plugin panicked: the call fails, the class is not locked for good
			e.mu.Unlock()
		}
	}()
	// Taken under the entry's lock, so that an entry only ever moves forward.
	snap := s.cluster.Snapshot()
	result := lookupHit
	if !e.prepared {
		e.prepare(s.Profile, pod, snap)
		result = lookupMiss
	}
	s.metrics.lookups.WithLabelValues(s.Profile.Name, result).Inc()
	e.calls++
	scratch, _ := s.scratches.Get().(*scratch)
	e.update(snap, scratch)
	s.scratches.Put(scratch)
	s.metrics.report(s.Profile.Name, e.checks)
	s.account(e)
	ready = true
	return View{Snapshot: snap, profile: s.Profile, entry: e}
}

// Verdict is the first verdict against the node of that index in the view's
// snapshot, in the order of the profile, or Fits. It is UnknownNode for a negative
// index.
func (v *View) Verdict(index int32) Verdict {
	switch {
	case index < 0:
		return UnknownNode
	case v.entry != nil:
		return v.entry.first[index]
	}
	return v.filter.Verdict(v.Snapshot.Node(index))
}

// Total is the weighted sum of the scores of the node of that index; see
// [Rank.Total].
func (v *View) Total(index int32) int64 {
	if v.entry != nil {
		return int64(v.entry.totals[index])
	}
	return v.rank.Total(v.Snapshot.Node(index))
}

// Scale brings a Total down to 0..top, rounded to the nearest.
func (v *View) Scale(total, top int64) int64 { return scale(total, top, v.profile.weights) }

// Close lets others ask about the same class.
func (v *View) Close() {
	if v.entry != nil {
		v.entry.mu.Unlock()
	}
}

// use finds or makes the entry of a class and marks it as used.
func (s *VerdictStore) use(class *Class) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.entries[class]; ok {
		s.recent.MoveToFront(at)
		return at.Value.(*entry)
	}
	e := &entry{class: class}
	s.entries[class] = s.recent.PushFront(e)
	return e
}

// account takes note of the size of an entry and drops the least recently used
// ones while all are too large together. The one at hand stays.
func (s *VerdictStore) account(e *entry) {
	size := e.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, kept := s.entries[e.class]; !kept {
		return // dropped by somebody else in the meantime
	}
	s.bytes += size - e.counted
	e.counted = size
	defer func() { s.metrics.observe(s.Profile.Name, s.recent.Len(), s.bytes) }()
	for s.bytes > s.maxBytes && s.recent.Len() > 1 {
		last := s.recent.Back()
		if last.Value.(*entry) == e {
			return
		}
		dropped, _ := s.recent.Remove(last).(*entry)
		delete(s.entries, dropped.class)
		s.classes.forget(dropped.class)
		s.bytes -= dropped.counted
	}
}

// ClassInfo is what a store says of a class to people.
type ClassInfo struct {
	Hash       string `json:"hash"`
	Controller string `json:"controller,omitempty"`
	// Pod is the pod that the class was first seen with.
	Pod string `json:"pod"`
	// Calls is how often it was asked for since it is remembered; the first one was a
	// miss.
	Calls int   `json:"calls"`
	Bytes int64 `json:"bytes"`
	// Generation is that of the snapshot that it was last asked on.
	Generation uint64 `json:"generation"`
	// Fitting is how many nodes fit then.
	Fitting int `json:"fitting"`
}

// Classes lists what is remembered, the most recently used first.
func (s *VerdictStore) Classes() []ClassInfo {
	s.mu.Lock()
	var entries []*entry
	for at := s.recent.Front(); at != nil; at = at.Next() {
		entries = append(entries, at.Value.(*entry))
	}
	s.mu.Unlock()
	infos := make([]ClassInfo, 0, len(entries))
	for _, e := range entries {
		infos = append(infos, e.info(s.cluster.Snapshot()))
	}
	return infos
}

func (e *entry) info(snap *cluster.Snapshot) ClassInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	info := ClassInfo{
		Hash: fmt.Sprintf("%016x", e.class.Hash), Controller: e.class.Controller, Pod: e.pod,
		Calls: e.calls, Bytes: e.size(), Generation: e.generation,
	}
	for node := range snap.Nodes() {
		if int(node.Index) < len(e.first) && e.first[node.Index] == Fits {
			info.Fitting++
		}
	}
	return info
}
