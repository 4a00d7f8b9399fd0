package nomination

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/predicates"
)

// stuck are the pods of one equivalence class for which no plan found a node. Room for one
// is room for more, so one of them is tried for all, and often, while the others rest for
// long.
type stuck struct {
	pods  sets.Set[*nominee] // some may have gone on since
	again time.Time          // when one of them is to be tried
	probe *nominee           // the first of them, at the last look
}

// jam is what stuck pods have in common.
type jam struct {
	store *predicates.VerdictStore
	class predicates.Class
}

// isStuck says that the last plan for a pod found no node, and that it rests.
func (p *nominee) isStuck() bool { return p.stage == resting && p.fruitless > 0 }

// noPlace follows a plan that found no node for a pod.
func (n *Nominator) noPlace(p *nominee) {
	n.metrics.unplaced.Inc()
	p.fruitless++
	p.until = n.clock.Now().Add(n.backoff(p.fruitless))
	n.place(p)
	p.jam = jam{p.store, p.store.ClassOf(p.decided)}
	if p.jam.class.None() {
		return // nobody is like it
	}
	s := n.jams[p.jam]
	if s == nil {
		s = &stuck{pods: sets.New[*nominee]()}
		n.jams[p.jam] = s
	}
	s.pods.Insert(p)
	s.again = n.clock.Now().Add(n.limits.Probe)
}

// hasPlace follows a plan that found a node for a pod: if it was stuck, those like it
// are tried at once.
func (n *Nominator) hasPlace(p *nominee) {
	if p.fruitless == 0 {
		return
	}
	p.fruitless = 0
	s := n.jams[p.jam]
	if s == nil {
		return
	}
	delete(n.jams, p.jam)
	for other := range s.pods {
		if n.nominees[other.pod.UID] == other && other.jam == p.jam && other.isStuck() {
			other.until = n.clock.Now()
			n.place(other)
		}
	}
}

// probe has one pod tried of each class that is due, those that have waited longest first.
func (n *Nominator) probe() {
	now := n.clock.Now()
	var due []*stuck
	for key, s := range n.jams {
		s.probe = nil
		for p := range s.pods {
			switch {
			case n.nominees[p.pod.UID] != p || p.jam != key || p.fruitless == 0:
				s.pods.Delete(p)
			case s.probe == nil || before(p, s.probe) < 0:
				s.probe = p
			}
		}
		switch {
		case s.probe == nil:
			delete(n.jams, key)
		case !now.Before(s.again):
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *stuck) int { return cmp.Or(a.again.Compare(b.again), before(a.probe, b.probe)) })
	for _, s := range due[:min(len(due), n.limits.Probes)] {
		s.again = now.Add(n.limits.Probe)
		if s.probe.isStuck() {
			s.probe.until = now
			n.place(s.probe)
		}
	}
}

// behind is how many stuck pods wait for what becomes of one of them in the backlog.
func (n *Nominator) behind() int {
	pods := 0
	for _, s := range n.jams {
		if s.probe != nil && s.probe.stage == waiting {
			pods += len(s.pods)
		}
	}
	return pods
}
