package predicates

import (
	"fmt"
	"math/bits"
	"time"

	"muster.dev/muster/cluster"
)

// ClassInfo is what a store says of a class to people.
type ClassInfo struct {
	Hash       string `json:"hash"`
	Controller string `json:"controller,omitempty"`
	// Pod is the pod that the class was first seen with.
	Pod string `json:"pod"`
	// Calls is how often it was asked for since it is remembered, Misses how often it
	// had to be judged on all nodes.
	Calls  int   `json:"calls"`
	Misses int   `json:"misses"`
	Bytes  int64 `json:"bytes"`
	// Generation is that of the snapshot that it was last asked on, Age how long ago
	// that was.
	Generation uint64        `json:"generation"`
	Age        time.Duration `json:"age"`
	// Fitting is how many nodes fit then.
	Fitting int `json:"fitting"`
}

// Remembered is what is remembered of a class on one node.
type Remembered struct {
	Node string `json:"node"`
	// Reason is that of the first predicate against the node, "" when the pods fit.
	Reason string `json:"reason,omitempty"`
	// Predicates are those of the profile, in their order.
	Predicates []RememberedVerdict `json:"predicates"`
}

// RememberedVerdict is the verdict of one predicate.
type RememberedVerdict struct {
	Predicate string `json:"predicate"`
	// Concerned says that the predicate has something to say of the class at all.
	Concerned bool `json:"concerned"`
	Fits      bool `json:"fits"`
	// Reason is why not. It is kept for the first predicate against the node only; that
	// of others can be told while nothing has changed since they were asked.
	Reason string `json:"reason,omitempty"`
}

// Class is what is remembered of the class of that hash, as in ClassInfo, on every
// node. It says false when there is none. Nothing is evaluated to find out.
func (s *VerdictStore) Class(hash string) (ClassInfo, []Remembered, bool) {
	snap := s.cluster.Snapshot()
	for _, e := range s.remembered() {
		if e.class.hashText() != hash {
			continue
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		var nodes []Remembered
		for node := range snap.Nodes() {
			if e.judgement != nil && int(node.Index) < len(e.first) {
				nodes = append(nodes, e.remembered(node, snap))
			}
		}
		return e.info(snap, s.clock.Now()), nodes, true
	}
	return ClassInfo{}, nil, false
}

// remembered must be called with the lock held.
func (e *entry) remembered(node *cluster.Node, snap *cluster.Snapshot) Remembered {
	against := e.against[node.Index]
	r := Remembered{Node: node.Name, Reason: e.first[node.Index].Reason(snap.ResourceNames)}
	for i, check := range e.judgement.checks {
		v := RememberedVerdict{Predicate: e.judgement.profile.predicates[i].Name(), Concerned: check != nil, Fits: against>>i&1 == 0}
		switch {
		case v.Fits:
		case i == bits.TrailingZeros32(against):
			v.Reason = r.Reason
		case e.generation == snap.Generation:
			v.Reason = check.Verdict(node).Reason(snap.ResourceNames)
		}
		r.Predicates = append(r.Predicates, v)
	}
	return r
}

// Classes lists what is remembered, the most recently used first.
func (s *VerdictStore) Classes() []ClassInfo {
	snap := s.cluster.Snapshot()
	var infos []ClassInfo
	for _, e := range s.remembered() {
		e.mu.Lock()
		infos = append(infos, e.info(snap, s.clock.Now()))
		e.mu.Unlock()
	}
	return infos
}

// remembered are all entries, the most recently used first.
func (s *VerdictStore) remembered() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	for at := s.recent.Front(); at != nil; at = at.Next() {
		entries = append(entries, at.Value.(*entry))
	}
	return entries
}

// info must be called with the lock held.
func (e *entry) info(snap *cluster.Snapshot, now time.Time) ClassInfo {
	info := ClassInfo{
		Hash: e.class.hashText(), Controller: e.class.Controller,
		Calls: e.calls, Misses: e.misses, Bytes: e.size(), Generation: e.generation, Age: now.Sub(e.asked),
	}
	if e.judgement != nil { // else a plugin panicked
		info.Pod = e.judgement.pod.Namespace + "/" + e.judgement.pod.Name
	}
	for node := range snap.Nodes() {
		if int(node.Index) < len(e.first) && e.first[node.Index] == Fits {
			info.Fitting++
		}
	}
	return info
}

// hashText is the hash of a class as people see it.
func (c *Class) hashText() string { return fmt.Sprintf("%016x", c.Hash) }
