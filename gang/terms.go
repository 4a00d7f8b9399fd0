package gang

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// terms say whom a gang may have evicted, and what others lose by it.
type terms struct {
	*Manager
	below   int32                       // every member is of this priority or a higher one
	own     sets.Set[*group]            // the parts of the gang itself
	decided sets.Set[types.UID]         // pods that have to go for a gang already
	running map[*group]*placement.Limit // of gangs, nil where members are as any other pods
	spared  map[*group]bool
}

// termsFor are those for a gang.
func (m *Manager) termsFor(parts []part) *terms {
	t := m.terms()
	t.below = parts[0].priority
	for _, p := range parts {
		t.own.Insert(p.group)
		for _, candidate := range readyOf(p.in(pending)) {
			t.below = min(t.below, priority(candidate.pod))
		}
	}
	return t
}

// terms are those for a pod of no gang, of which kube-scheduler says whom it outranks.
func (m *Manager) terms() *terms {
	t := &terms{
		Manager: m, own: sets.New[*group](), decided: sets.New[types.UID](),
		running: map[*group]*placement.Limit{}, spared: map[*group]bool{},
	}
	for _, g := range m.groups {
		if g.clearing == nil {
			continue
		}
		for _, victims := range g.clearing.victims {
			for _, v := range victims {
				t.decided.Insert(v.pod.UID)
			}
		}
	}
	return t
}

// may says what the eviction of a pod would mean; false when it must stay. A pod that is not
// bound yet is none of the scheduler's: plans give way by themselves, see GiveWay.
func (t *terms) may(pod *cluster.Pod) (placement.Eviction, bool) {
	if pod.Spec.NodeName == "" || priority(pod) >= t.below {
		return placement.Eviction{}, false
	}
	if pod.DeletionTimestamp != nil {
		overdue := t.clock.Since(pod.DeletionTimestamp.Time) > t.limits.Timeout
		return placement.Eviction{Leaving: true}, !overdue
	}
	if t.decided.Has(pod.UID) {
		return placement.Eviction{Leaving: true}, true
	}
	g := t.groupOf[pod.UID]
	switch {
	case g == nil:
		return placement.Eviction{}, true
	case t.own.Has(g) || t.spares(g):
		return placement.Eviction{}, false
	}
	if limit := t.limit(g); limit != nil {
		return placement.Eviction{Limits: []*placement.Limit{limit}}, true
	}
	return placement.Eviction{}, true
}

// goes says that a pod has to go in any case.
func (t *terms) goes(pod *cluster.Pod) bool {
	return pod.DeletionTimestamp != nil || t.decided.Has(pod.UID)
}

// spares says that a group is just about to start, or one that starts together with it.
func (t *terms) spares(g *group) bool {
	if spared, known := t.spared[g]; known {
		return spared
	}
	for _, p := range t.bundleOf(g) {
		if c := p.counts; c[held]+c[binding] > 0 || c[placed] > 0 && !p.started() {
			t.spared[g] = true
			return true
		}
	}
	t.spared[g] = false
	return false
}

// limit is how many members of a group may go before it is not what has to run together any
// more: then all that starts together is lost. There is none for a group that is too small
// already, or of which it is not known how many there must be.
func (t *terms) limit(g *group) *placement.Limit {
	if limit, known := t.running[g]; known {
		return limit
	}
	t.running[g] = nil
	spec, reason := t.spec(g)
	if reason != "" {
		return nil
	}
	staying, whole := g.done.succeeded.Len(), 0
	for _, p := range t.bundleOf(g) {
		whole += p.counts.assigned()
	}
	for _, p := range g.members {
		if p.stage == bound && !t.goes(p.pod) {
			staying++
		}
	}
	if staying >= spec.MinMember {
		t.running[g] = &placement.Limit{Allowed: staying - spec.MinMember, Whole: whole}
	}
	return t.running[g]
}

// bundleOf are the groups that start together with one, itself alone if that is not known.
func (t *terms) bundleOf(g *group) []part {
	parts, reason := t.bundle(g)
	if reason != "" {
		return nil
	}
	return parts
}
