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
	a := try{t, &Attempt{purpose: forPreempt, parts: parts, asking: p, placing: p.stage == pending}}
	switch {
	case not != nil:
		t.has(Preempted{Starting: true})
	case startedAll(parts):
		t.has(Preempted{})
	case a.placing:
		a.plan()
	default:
		a.answer()
	}
}

// isUnasked reports whether the scheduler has had its time to ask which pods to evict.
func (t try) isUnasked() bool {
	since := t.first().noRoom
	return !since.IsZero() && (t.now.Sub(since) >= t.limits.Preempt || anyInherited(t.parts))
}

// answer tells the scheduler which pods to evict for the member that it asks about, if it asks about one.
func (t try) answer() {
	answer, p := Preempted{Starting: true}, t.asking
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
func (t try) makeRoom() {
	g := t.first()
	for _, p := range t.parts {
		t.planBy(p.group)
	}
	t.generation = t.view.Generation()
	if t.rests(g) || t.hindered() != "" || slices.ContainsFunc(t.parts, part.evictsInVain) ||
		g.sought == t.generation || t.now.Before(g.soughtAgain) {
		t.answer()
		return
	}
	t.fresh, t.evicting, t.tries = unplanned(t.parts), true, 0
	for _, p := range t.parts {
		if slices.ContainsFunc(p.candidates(), neverPreempts) {
			t.noVictims(0)
			return
		}
	}
	t.lookAtAll() // victims may be of any of them
	t.findVictims()
}

func (t try) findVictims() {
	t.tries++
	t.has(FindVictims{t.Attempt, t.search(), t.termsFor(t.now, t.parts)})
}

func (e VictimsFound) apply(t *turn) {
	a := try{t, e.Attempt}
	breaks := breakup{t}.breaks(a.parts, e.Victims)
	a.first().inTheWay = ""
	a.place(e.Places, e.Nodes, true)
	t.clear(a.parts, e.Victims, breaks)
	a.answer()
}

func (e NoVictims) apply(t *turn) {
	a := try{t, e.Attempt}
	if g := a.first(); g.reason == status.Unschedulable {
		before := strings.TrimSuffix(g.why, g.besidesVictims())
		if g.inTheWay = e.Why; e.Why == before {
			g.inTheWay = "" // there is nobody to evict
		}
		g.waits(g.reason, before+g.besidesVictims())
	}
	a.noVictims(e.Took)
}

// besidesVictims says, as part of why a group waits, what else speaks against places for it besides pods that
// might be evicted.
func (g *group) besidesVictims() string {
	if g.inTheWay == "" {
		return ""
	}
	return "; if all went that may be evicted: " + g.inTheWay
}

func (t try) noVictims(took time.Duration) {
	g := t.first()
	g.sought, g.soughtAgain = t.generation, t.now.Add(max(t.limits.Rest, 10*took))
	t.answer()
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
