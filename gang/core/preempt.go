package core

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/status"
)

// The first call about a member finds victims for the whole gang, or none. When there are any, all members
// count on their places at once. Each call is answered with the place of its member, and the victims there for
// any member: the scheduler evicts pods of one node at a time. Victims for members that it does not ask about
// are evicted all the same, a little later.
//
// When members are lost meanwhile, nobody is evicted until others have come in their place.
//
// A scheduler that is told only of nodes to which no eviction helps does not call. That is so where each member
// has room for itself, and there is none for all of them. Then muster looks for victims by itself after a while.
//
// When a place is found without victims, or they are gone, there is no answer that says so: a member
// that filter has refused is woken then. Another one did not fit by what the scheduler knows, and is
// tried when that changes.
func (e Preempts) apply(t *turn) {
	g := t.groupOf[e.UID]
	if g == nil {
		return
	}
	p := g.members[e.UID]
	g.noRoom = time.Time{}
	parts, not := t.bundle(g)
	a := &attempt{turn: t, purpose: forPreempt, parts: parts, asking: p, placing: p.stage == pending}
	switch {
	case not != nil:
		t.has(Preempted{})
	case startedAll(parts) && (parts[0].spec.Policy.Topology.Asks() || parts[0].spec.SharesBinding()):
		t.has(Preempted{}) // kube-scheduler would evict where it may not go
	case startedAll(parts):
		t.has(Preempted{Alone: true})
	case a.placing:
		a.plan()
	default:
		a.answer()
	}
}

// isUnasked reports whether the scheduler has had its time to ask which pods to evict.
func (t *attempt) isUnasked() bool {
	since := t.first().noRoom
	return !since.IsZero() && (t.now.Sub(since) >= t.limits.SeekAfter || anyInherited(t.parts))
}

// answer tells the scheduler which pods to evict for the member that it asks about, if it asks about one.
func (t *attempt) answer() {
	answer, p := Preempted{}, t.asking
	switch {
	case p == nil || p.stage != placed:
	case !t.awaiting(t.parts, nil): // no answer says that it has a place
		if t.placing {
			steering{t.turn}.steer(p, t.view.NodeCount())
		}
	case !anyMissing(t.parts):
		answer.Preemption = toEvict(t.parts, p.place)
	}
	t.has(answer)
}

// toEvict returns the victims on a node that are not going yet.
func toEvict(parts []part, place string) Preemption {
	answer := Preemption{Node: place}
	for _, p := range parts {
		if p.clearing == nil {
			continue
		}
		for _, victim := range p.clearing.victims[place] {
			if victim.Pod.DeletionTimestamp != nil || slices.ContainsFunc(answer.Victims, victim.is) {
				continue
			}
			answer.Victims = append(answer.Victims, victim.Pod)
			if victim.Violates {
				answer.Violations++
			}
		}
	}
	return answer
}

// makeRoom looks for pods to evict, so that in each part enough members to start together have a place, and has
// them count there. If there are none, nothing changes. minResources are asked about only if nobody has to go:
// otherwise victims free resources as well, and this plan knows better.
func (t *attempt) makeRoom() {
	g := t.first()
	for _, p := range t.parts {
		t.planBy(p.group)
	}
	t.generation = t.view.Generation()
	if t.limits.EvictNobody || t.rests(g) || g.soughtInVain(t.generation, t.now) {
		if t.leavesOthers() || !g.soughtOnce.IsZero() {
			t.foundNoRoom() // the scheduler need not ask once more when that is over
		}
		t.answer()
		return
	}
	if told := g.courtesy.told; !told.IsZero() && !t.now.Before(told) {
		g.saysBesides(func(g *group) { g.courtesy.told = time.Time{} })
	}
	switch may := t.hindered() == "" && t.mayEvict() || t.others(nil, func() (does, late bool) { return t.mayEvict(), false }); {
	case may:
		t.fresh, t.evicting = unplanned(t.parts), true
		t.lookAtAll() // victims may be of any of them
		t.findVictims()
	case t.neverEvicts():
		t.noVictims(0)
	case t.leavesOthers():
		t.foundNoRoom() // as above
	}
	t.answer()
}

// soughtInVain reports whether there are no victims, as far as a former search for them tells.
func (p *prospects) soughtInVain(generation uint64, now time.Time) bool {
	same := p.sought == generation && (p.soughtOnce.IsZero() || now.Before(p.soughtOnce))
	return same || now.Before(p.soughtAgain)
}

// mayEvict reports whether pods may be evicted for a bundle.
func (t *attempt) mayEvict() bool {
	return !slices.ContainsFunc(t.parts, part.evictsInVain) && !t.neverEvicts() && !t.leavesOthers()
}

// findVictims has members count on places from which others have to go.
func (t *attempt) findVictims() {
	for range searches {
		started := t.now
		found := t.searchVictims()
		switch found.Outcome {
		case Found:
			breaks := breakup{t.turn}.breaks(t.parts, found.Victims)
			t.first().inTheWay = ""
			t.place(found.Planned, found.Nodes, true)
			t.clear(t.parts, found.Victims, breaks)
			return
		case NotFound:
			t.nobodyToEvict(found.Why)
			t.noVictims(t.now.Sub(started))
			if t.owed > 0 {
				t.foundNoRoom() // the scheduler does not ask again when these have run for long enough
			}
			return
		case Overtaken:
			return
		case Outdated: // once more
		}
	}
}

// searchVictims asks for victims for a bundle, like search for places.
func (t *attempt) searchVictims() (found Evictions) {
	t.owed = 0
	found = t.victimsByTerms()
	if found.Outcome == NotFound {
		t.others(nil, func() (does, late bool) {
			if !t.mayEvict() {
				return false, false
			}
			instead := t.victimsByTerms()
			if instead.Outcome != NotFound {
				found = instead
			}
			return found.Outcome != NotFound, instead.Late
		})
	}
	return found
}

// victimsByTerms asks for victims, and notes when more pods may be.
func (t *attempt) victimsByTerms() Evictions {
	terms := t.termsFor(t.parts)
	found := t.ports.FindVictims(t.wanted(), terms)
	t.now = t.ports.Now()
	if t.owed == 0 || terms.owed > 0 && terms.owed < t.owed {
		t.owed = terms.owed
	}
	return found
}

// neverEvicts reports whether a member does not allow evictions for it.
func (t *attempt) neverEvicts() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return slices.ContainsFunc(p.candidates(), neverPreempts) })
}

// nobodyToEvict says, beside why a group has no place, what is in the way though all go that may.
func (t *attempt) nobodyToEvict(why string) {
	g := t.first()
	if g.reason != status.Unschedulable {
		return
	}
	g.saysBesides(func(g *group) {
		before := strings.TrimSuffix(g.why, g.besidesVictims())
		if g.inTheWay, g.soughtOnce = why, t.owedUntil(); why == before {
			g.inTheWay = "" // there is nobody to evict
		}
	})
	g.lackedPlaces = true
}

// owedUntil returns when the first of the pods has run for long enough that were no victims before; zero for none.
func (t *attempt) owedUntil() time.Time {
	if t.owed == 0 {
		return time.Time{}
	}
	return t.now.Add(t.owed)
}

// noVictims notes when victims are sought again, after a search in vain that took so long.
func (t *attempt) noVictims(took time.Duration) {
	g := t.first()
	g.sought, g.soughtAgain, g.soughtOnce = t.generation, t.now.Add(max(t.limits.Rest, 10*took)), t.owedUntil()
}

func neverPreempts(p *member) bool {
	policy := p.pod.Spec.PreemptionPolicy
	return policy != nil && *policy == corev1.PreemptNever
}

// toFront moves a member to the front of some, if it is one of them.
func toFront(members []*member, first *member) []*member {
	if at := slices.Index(members, first); at > 0 {
		copy(members[1:at+1], members[:at])
		members[0] = first
	}
	return members
}
