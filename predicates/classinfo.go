package predicates

import (
	"fmt"
	"time"

	"muster.dev/muster/cluster"
)

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
	// Generation is that of the snapshot that it was last asked on, Age how long ago
	// that was.
	Generation uint64        `json:"generation"`
	Age        time.Duration `json:"age"`
	// Fitting is how many nodes fit then.
	Fitting int `json:"fitting"`
}

// Classes lists what is remembered, the most recently used first.
func (s *VerdictStore) Classes() []ClassInfo {
	snap := s.cluster.Snapshot()
	var infos []ClassInfo
	for _, e := range s.remembered() {
		infos = append(infos, e.info(snap, s.clock.Now()))
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

func (e *entry) info(snap *cluster.Snapshot, now time.Time) ClassInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	info := ClassInfo{
		Hash: fmt.Sprintf("%016x", e.class.Hash), Controller: e.class.Controller,
		Calls: e.calls, Bytes: e.size(), Generation: e.generation, Age: now.Sub(e.asked),
	}
	if e.judgement != nil {
		info.Pod = e.judgement.pod.Namespace + "/" + e.judgement.pod.Name
	}
	for node := range snap.Nodes() {
		if int(node.Index) < len(e.first) && e.first[node.Index] == Fits {
			info.Fitting++
		}
	}
	return info
}
