package predicates

import (
	"container/list"
	"sync"

	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
)

// VerdictStore remembers, per equivalence class, what the predicates and scores of
// a profile said of the nodes that were asked about. Asked again, it replays the
// cluster's journal and evaluates only those nodes and predicates whose declared
// aspects changed.
//
// A verdict is computed on an immutable snapshot and carries its generation, so a
// stale one cannot be written over a newer one. The least recently used classes
// are dropped beyond a bound in bytes. It is safe for concurrent use.
type VerdictStore struct {
	// Profile is whose verdicts these are.
	Profile *Profile

	cluster  *cluster.Cluster
	classes  classes
	maxBytes int64
	metrics  *StoreMetrics
	clock    clock.PassiveClock

	scratches sync.Pool // of *scratch
	helpers   helpers

	trials lock.Mutex // held by the one who has trials

	mu      lock.Mutex
	retired bool
	entries map[Class]*list.Element // of *entry
	recent  *list.List              // most recently used first
	bytes   int64
}

// NewVerdictStore returns an empty store for the pods of a profile. maxBytes bounds
// what it remembers.
func NewVerdictStore(p *Profile, c *cluster.Cluster, maxBytes int64, m *StoreMetrics, now clock.PassiveClock) *VerdictStore {
	return &VerdictStore{
		Profile: p, cluster: c, classes: classes{p.equivalence, p.DependsOn(cluster.AspectSelector), p.plugins},
		maxBytes: maxBytes, helpers: newHelpers(), metrics: m, clock: now, trials: lock.New(lock.Plan), mu: lock.New(lock.Store),
		scratches: sync.Pool{New: func() any { return new(scratch) }},
		entries:   map[Class]*list.Element{}, recent: list.New(),
	}
}

// Snapshot returns the present state of the cluster that the verdicts are about.
func (s *VerdictStore) Snapshot() *cluster.Snapshot { return s.cluster.Snapshot() }

// Nominated returns the pods whose room is promised to them, see [cluster.Cluster.Nominated].
func (s *VerdictStore) Nominated() []*cluster.Pod { return s.cluster.Nominated() }

func (s *VerdictStore) scratch() *scratch {
	memory, _ := s.scratches.Get().(*scratch)
	return memory
}

// use finds or makes the entry of a class and marks it as used.
func (s *VerdictStore) use(class Class) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.entries[class]; ok {
		s.recent.MoveToFront(at)
		return at.Value.(*entry)
	}
	e := &entry{class: class, mu: lock.New(lock.Class)}
	s.entries[class] = s.recent.PushFront(e)
	return e
}

// account notes the size of an entry. It drops the least recently used entries while all are too large
// together. It also drops entries that the journal does not reach back to: they would have to be judged from
// scratch, and keep old objects of the cluster alive. The entry at hand stays.
func (s *VerdictStore) account(e *entry, snap *cluster.Snapshot) {
	size := e.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, kept := s.entries[e.class]; !kept {
		return // dropped by somebody else in the meantime
	}
	s.bytes += size - e.counted
	e.counted, e.reached = size, snap.Generation
	defer s.observe()
	for s.recent.Len() > 1 {
		last := s.recent.Back()
		oldest, _ := last.Value.(*entry)
		if _, reachable := snap.Since(oldest.reached); oldest == e || s.bytes <= s.maxBytes && (reachable || oldest.counted == 0) {
			return
		}
		dropped, _ := s.recent.Remove(last).(*entry)
		delete(s.entries, dropped.class)
		s.bytes -= dropped.counted
	}
}

// observe tells how much is remembered. The caller holds the lock.
func (s *VerdictStore) observe() {
	if !s.retired {
		s.metrics.observe(s.Profile.Name, s.recent.Len(), s.bytes)
	}
}

// Retire says that the profile is in force no more. Calls that have begun may go on, but
// what is remembered counts as forgotten.
func (s *VerdictStore) Retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	s.metrics.forget(s.Profile.Name)
}

// Pass returns once each lock of the store was free, one after the other, and does nothing else. A canary calls
// it.
func (s *VerdictStore) Pass() {
	free := func(l sync.Locker) {
		l.Lock()
		defer l.Unlock()
	}
	free(&s.trials)
	for _, e := range s.all() {
		free(&e.mu)
	}
}

// all returns the present entries.
func (s *VerdictStore) all() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*entry, 0, len(s.entries))
	for _, at := range s.entries {
		all = append(all, at.Value.(*entry))
	}
	return all
}
