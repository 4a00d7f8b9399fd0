package core

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/runtimes"
)

// Terms say which pods a gang may have evicted, and what others lose by it. They hold until the next event is
// applied.
type Terms struct {
	*State
	now     time.Time
	below   int32                       // every member is of this priority or a higher one
	own     sets.Set[*group]            // the parts of the gang itself
	decided sets.Set[types.UID]         // pods that have to go for a gang already
	running map[*group]*placement.Limit // of gangs, nil where members are as any other pods
	spared  map[*group]bool
	ages    runtimes.Ages
	owed    time.Duration                  // until the first of the pods has run for long enough that were asked about, 0 for none
	loose   map[*group]sets.Set[types.UID] // see looseOf
}

// termsFor returns the terms of a gang.
func (t *turn) termsFor(parts []part) *Terms {
	terms := t.terms(t.now)
	terms.ages, terms.below = t.view.Ages(), parts[0].priority
	for _, p := range parts {
		terms.own.Insert(p.group)
		for _, candidate := range p.candidates() {
			terms.below = min(terms.below, priority(candidate.pod))
		}
	}
	return terms
}

// Victims returns all pods that gangs wait for to go.
func (s *State) Victims() sets.Set[types.UID] {
	victims := sets.New[types.UID]()
	for _, g := range s.groups {
		if g.clearing == nil {
			continue
		}
		for _, of := range g.clearing.victims {
			for _, v := range of {
				victims.Insert(v.Pod.UID)
			}
		}
	}
	return victims
}

// terms returns the terms of a pod of no gang. kube-scheduler says which pods it outranks.
func (s *State) terms(now time.Time) *Terms {
	return &Terms{
		State: s, now: now, own: sets.New[*group](), decided: s.Victims(), running: map[*group]*placement.Limit{}, spared: map[*group]bool{},
		loose: map[*group]sets.Set[types.UID]{},
	}
}

// May says what the eviction of a pod would mean; false when it must stay. A pod that is not
// bound yet is none of the scheduler's: plans give way by themselves, see [Outranked].
func (t *Terms) May(pod *cluster.Pod) (placement.Eviction, bool) {
	if pod.Spec.NodeName == "" || priority(pod) >= t.below {
		return placement.Eviction{}, false
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return placement.Eviction{Leaving: true}, placement.Leaves(pod, t.now)
	case t.decided.Has(pod.UID):
		return placement.Eviction{Leaving: true}, true
	case placement.Grace(&pod.Spec) > placement.MostGrace: // it would be evicted in vain: its room is not waited for
		return placement.Eviction{}, false
	}
	g := t.groupOf[pod.UID]
	if g != nil && (t.own.Has(g) || t.spares(g)) || t.owes(pod) {
		return placement.Eviction{}, false
	}
	eviction := placement.Eviction{Loss: t.ages.Loss(pod)}
	if g == nil {
		return eviction, true
	}
	if limit := t.limit(g); limit != nil {
		eviction.Limits = []*placement.Limit{limit}
		if loose := t.looseOf(g, limit); loose != nil {
			return eviction, loose.Has(pod.UID)
		}
	}
	return eviction, true
}

// goes reports whether a pod has to go in any case.
func (t *Terms) goes(pod *cluster.Pod) bool {
	return pod.DeletionTimestamp != nil || t.decided.Has(pod.UID)
}

// spares reports whether a group, or one that starts together with it, is just about to start.
func (t *Terms) spares(g *group) bool {
	if spared, known := t.spared[g]; known {
		return spared
	}
	for _, p := range t.bundleOf(g) {
		if c := p.counts; c.came()+c[due]+c[binding] > 0 || c[placed] > 0 && !p.started() {
			t.spared[g] = true
			return true
		}
	}
	t.spared[g] = false
	return false
}

// limit returns how many members of a group may go before it falls below the number that must run together, and
// everything that starts together is lost. It returns none for a group that is too small already, or whose
// number is not known.
func (t *Terms) limit(g *group) *placement.Limit {
	if limit, known := t.running[g]; known {
		return limit
	}
	t.running[g] = nil
	spec, not := g.asked()
	if not != nil {
		return nil
	}
	staying, whole, loss := g.done.succeeded, 0, 0.0
	for _, p := range t.bundleOf(g) {
		whole += p.counts.assigned()
		for _, member := range p.in(bound) { // in their order, as sums of fractions differ by it
			loss += t.ages.Loss(member.pod)
		}
	}
	for _, p := range g.members {
		if p.stage == bound && !t.goes(p.pod) {
			staying++
		}
	}
	if staying >= spec.MinMember {
		t.running[g] = &placement.Limit{Allowed: staying - spec.MinMember, Whole: whole, Loss: loss}
	}
	return t.running[g]
}

// bundleOf returns the groups that start together with one, none if that is not known.
func (t *Terms) bundleOf(g *group) []part {
	parts, _ := t.together(g)
	return parts
}

// Harm is the damage that evictions would do to gangs.
type Harm int

// The damage of evictions, the worst last.
const (
	// NoHarm leaves every gang with enough members to run together.
	NoHarm Harm = iota
	// BreaksGang leaves one that runs with fewer.
	BreaksGang
	// BreaksStart takes members from one that is just about to start.
	BreaksStart
)

// Harms says for each node what the evictions on it would do, for a pod of no gang, if no other node had
// evictions: by the rules of evictions for gangs. The eviction of a pod that goes in any case does no harm.
func (s *State) Harms(now time.Time, victims map[string][]types.UID) map[string]Harm {
	terms, harms := s.terms(now), map[string]Harm{}
	for node, of := range victims {
		harms[node] = terms.harm(of)
	}
	return harms
}

// harm returns the damage of evictions that are made together.
func (t *Terms) harm(victims []types.UID) Harm {
	for _, uid := range victims {
		if g := t.groupOf[uid]; g != nil && !t.goes(g.members[uid].pod) && t.spares(g) {
			return BreaksStart
		}
	}
	if len(t.broken(victims)) > 0 {
		return BreaksGang
	}
	return NoHarm
}
