package nomination

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/predicates"
)

// stuck are the pods of one equivalence class that no plan found a node for. Room for one is room for more, so
// one of them is tried for all, and often, while the others rest for long.
type stuck struct {
	pods  sets.Set[*nominee] // some may have gone on since
	again time.Time          // when one of them is to be tried
	probe *nominee           // the first of them, at the last look
}

// jam describes what stuck pods have in common.
type jam struct {
	store *predicates.VerdictStore
	class predicates.Class
}

// isStuck reports whether the last plan for a pod found no node, and that it rests.
func (p *nominee) isStuck() bool { return p.stage == resting && p.fruitless > 0 }

// noPlace follows a plan that found no node for a pod.
func (c *course) noPlace(p *nominee) {
	c.metrics.unplaced.Inc()
	if p.ahead() && !p.gated() { // kube-scheduler sees it already
		p.gate.spent, p.fruitless = Unplaced, 0
		c.place(p)
		return
	}
	if p.gate.vain.IsZero() {
		p.gate.vain = c.clock.Now()
	}
	p.fruitless++
	p.until = c.clock.Now().Add(c.backoff(p.fruitless))
	c.place(p)
	p.jam = jam{p.store, p.store.ClassOf(p.decided)}
	if p.jam.class.None() {
		return // nobody is like it
	}
	s := c.jams[p.jam]
	if s == nil {
		s = &stuck{pods: sets.New[*nominee]()}
		c.jams[p.jam] = s
	}
	s.pods.Insert(p)
	s.again = c.clock.Now().Add(c.limits.Probe)
}

// hasPlace follows a plan that found a node for a pod: if it was stuck, those like it
// are tried at once.
func (c *course) hasPlace(p *nominee) {
	p.gate.vain = time.Time{}
	if p.fruitless == 0 {
		return
	}
	p.fruitless = 0
	s := c.jams[p.jam]
	if s == nil {
		return
	}
	delete(c.jams, p.jam)
	for other := range s.pods {
		if c.nominees[other.pod.UID] == other && other.jam == p.jam && other.isStuck() {
			other.until = c.clock.Now()
			c.place(other)
		}
	}
}

// probe has one pod tried of each class that is due, the pods that have waited longest first.
func (c *course) probe() {
	now := c.clock.Now()
	var due []*stuck
	for key, s := range c.jams {
		s.probe = nil
		for p := range s.pods {
			switch {
			case c.nominees[p.pod.UID] != p || p.jam != key || p.fruitless == 0:
				s.pods.Delete(p)
			case s.probe == nil || before(p, s.probe) < 0:
				s.probe = p
			}
		}
		switch {
		case s.probe == nil:
			delete(c.jams, key)
		case !now.Before(s.again):
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *stuck) int { return cmp.Or(a.again.Compare(b.again), before(a.probe, b.probe)) })
	for _, s := range due[:min(len(due), c.limits.Probes)] {
		s.again = now.Add(c.limits.Probe)
		if s.probe.isStuck() {
			s.probe.until = now
			c.place(s.probe)
		}
	}
}

// behind returns how many stuck pods wait for the outcome of one of them in the backlog.
func (c *course) behind() int {
	pods := 0
	for _, s := range c.jams {
		if s.probe != nil && s.probe.stage == waiting {
			pods += len(s.pods)
		}
	}
	return pods
}
