package core

import (
	"fmt"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/status"
)

// purpose is the purpose of a plan.
type purpose int

const (
	forFilter  purpose = iota // a filter call waits for it
	forPreempt                // a preempt call
	ahead                     // nobody: the scheduler has not asked yet
	replan                    // nobody: a place of before was not good
)

// attempt is a plan that is being made, during the application of an event, for the members of a bundle that have no place:
// so that in each part enough members to start together have one or count already.
type attempt struct {
	*turn
	purpose purpose
	parts   []part
	asking  *member // about which the scheduler asks: it is told by the answer; nil for none
	placing bool    // it had no place when the scheduler asked

	fresh      []part        // the parts without a place before
	generation uint64        // of the cluster, when it began
	evicting   bool          // victims are sought
	owed       time.Duration // until the first of some pods has run for long enough that were no victims before, 0 for none
}

// searches bounds how often a search is made because a node changed meanwhile.
const searches = 5

// first returns the group that a plan is made for.
func (t *attempt) first() *group { return t.parts[0].group }

// plan makes the plan, where one is possible, and answers the call that waits for it.
func (t *attempt) plan() {
	if reason := t.unplannable(); reason != "" {
		t.ends(reason)
		return
	}
	t.generation = t.view.Generation()
	if t.first().looked == t.generation && !slices.ContainsFunc(t.parts, func(p part) bool { return p.lostPatience(t.now) }) {
		t.ends(ReasonNoPlace) // as before
		return
	}
	t.fresh = unplanned(t.parts)
	began := t.ports.Now()
	reason := t.findPlaces()
	for _, p := range t.parts { // of groups that share a domain, each is planned with the others
		if p.spec.AsksNetwork() && p.counts[pending] > 0 {
			p.tries.restFrom(t.now, t.now.Sub(began))
		}
	}
	t.ends(reason)
}

// unplannable returns the reason why a bundle is not planned now, whatever the nodes.
func (t *attempt) unplannable() (reason string) {
	g := t.first()
	if t.rests(g) || t.asking != nil && t.denies(g) && t.parts[0].missing() <= g.counts[pending] {
		return ReasonNoPlace // as before
	}
	for _, p := range t.parts {
		t.planBy(p.group)
	}
	if t.awaiting(t.parts, t.asking) || (breakup{t.turn}).ends(t.parts) {
		return ReasonVictims
	}
	t.recall(t.parts)
	if reason = t.hindered(); reason != "" && t.others(nil, func() (does, late bool) { return true, false }) {
		return ""
	}
	return reason
}

// findPlaces has members count on places. It returns the reason why there are none, "" when there are.
func (t *attempt) findPlaces() (reason string) {
	g := t.first()
	leads := g.leads(t.view)
	gaveWay := false
	for tries := 1; ; tries++ {
		found := t.search(Also{Contested: leads, Claims: leads && g.letGo() > 0})
		if found.Outcome == NotFound {
			claiming{t.turn}.renew(t.parts, found.Claims)
		}
		switch {
		case found.Outcome == Found:
			t.place(found.Planned, found.Nodes, found.Contested)
			if found.Why != "" && leads && g.letGo() > 0 { // the others go on
				g.waits(status.Waiting, found.Why)
			}
			return ""
		case found.Outcome == Outdated && tries < searches:
		case found.Outcome == Outdated, found.Outcome == Overtaken:
			g.waits(status.Waiting, "the nodes change faster than places can be planned")
			return ReasonNoPlace
		case !gaveWay && t.outranks() && tries < searches:
			gaveWay = true
		default:
			t.noPlaces(&found)
			return ReasonNoPlace
		}
	}
}

// outranks has gangs of a lower priority give way whose places would do. It reports whether there were any.
func (t *attempt) outranks() bool {
	g := t.first()
	without, on := t.Lower(g.priority)
	if len(without) == 0 || g.store == nil {
		return false
	}
	nodes, _ := t.ports.FindWithout(t.wanted(), without, on)
	t.now = t.ports.Now()
	return t.outrank(g.key.String(), g.priority, nodes)
}

// search asks for places for a bundle: in a tree, for one choice after the other until one has places.
func (t *attempt) search(also Also) (found Places) {
	found = t.ports.FindPlaces(t.wanted(), also)
	t.now = t.ports.Now()
	if g := t.first(); found.Outcome == NotFound && !found.Late && g.spec != nil && len(g.spec.Above) > 0 {
		unfit, late := t.unfit()
		if late {
			found.Late = true
			return found
		}
		t.others(unfit, func() (does, late bool) {
			instead := t.ports.FindPlaces(t.wanted(), also)
			t.now = t.ports.Now()
			if instead.Outcome != NotFound {
				found = instead
			}
			return found.Outcome != NotFound, instead.Late
		})
	}
	return found
}

// wanted returns what the pending members of a plan ask for. If others are to be evicted, the member that the
// scheduler asks about comes first: an eviction for it happens at once.
func (t *attempt) wanted() Search {
	s := Search{Store: t.first().store}
	for _, p := range t.parts {
		s.Parts = append(s.Parts, t.wantedOf(p))
	}
	s.Within = t.commons(t.parts)
	return s
}

func (t *attempt) wantedOf(p part) Wanted {
	candidates := p.plannable(t.now)
	if t.evicting {
		candidates = toFront(candidates, t.asking)
	}
	w := p.wanted(candidates)
	w.Patient = p.isPatient(t.now)
	return w
}

// wanted returns what members of a part ask for.
func (p part) wanted(candidates []*member) Wanted {
	w := Wanted{Key: p.key, Pods: podsOf(candidates), AtLeast: p.missing(), Resources: p.spec.MinResources}
	if len(w.Resources) > 0 {
		w.Own = podsOf(p.those(func(p *member) bool { return p.stage != pending }))
	}
	if w.Topology = p.spec.Policy.Topology; w.Topology.Asks() && !p.spec.InBatches() {
		for _, m := range p.those(func(m *member) bool { return m.stage != pending && m.stage != leaving }) {
			w.Beside = append(w.Beside, m.place)
		}
		if p.done.succeeded > 0 { // nothing shows which slices they were in
			w.Topology.Slices, w.Topology.Shares, w.Topology.SharesLevel = nil, nil, 0
		}
	}
	return w
}

// place has members be where they count now, and tells the scheduler of all but the one that it asks
// about. The time of the groups begins.
func (t *attempt) place(places []Planned, nodes int, contested bool) {
	leads := t.first().leads(t.view)
	for _, at := range places {
		p := t.member(at.UID)
		t.enter(p, placed)
		p.place = at.Node
		switch {
		case leads:
			leading{t.turn}.reserve(p, contested)
		case p != t.asking:
			steering{t.turn}.steer(p, nodes)
		}
	}
	for _, p := range t.fresh {
		p.planned = t.now
	}
	for _, p := range t.parts { // why it waited before is over
		p.waits(status.None, "")
		p.noRoom, p.inTheWay, p.soughtOnce, p.patience.tried, p.courtesy.told = time.Time{}, "", time.Time{}, false, time.Time{}
		if !t.evicting && p.clearing == nil {
			p.courtesy = courtesy{}
		}
		if (leads || p.spec.AsksNetwork()) && len(p.plannable(t.now)) > 0 { // until the cluster changes
			p.looked = t.generation
		}
	}
}

// noPlaces notes that there are too few places, and why. The group is denied, unless its members that have places may wait for
// the others.
func (t *attempt) noPlaces(found *Places) {
	why := found.Why
	for _, p := range t.parts {
		if p.patience.tried = found.Patient && p.prefers(); p.patience.tried {
			why = p.waitsFor() + found.Why
		}
	}
	t.lacksRoom()
	if g := t.first(); len(t.fresh) < len(t.parts) && bearable(t.parts, t.limits.MaxGap) {
		g.waits(status.Waiting, why+"; the others keep their places until the time is up")
	} else {
		t.deny(g, status.Unschedulable, why+g.besidesVictims(), ErrRefused)
	}
	for _, p := range t.parts { // the next one, ahead of the scheduler, is made when the cluster has changed
		p.looked, p.again, p.lackedPlaces = t.generation, time.Time{}, true
		if found.Late { // or when it is its turn again
			p.looked = 0
		}
	}
	if len(t.parts) == 1 {
		t.first().found = found.Some
	}
}

// ends answers the call that waits for a plan. The reason, unless it is "", says why there is none.
func (t *attempt) ends(reason string) {
	t.corrects(t.parts, reason)
	switch p := t.asking; t.purpose {
	case forFilter:
		switch {
		case reason != "":
			t.refuse(p, reason)
			if reason == ReasonNoPlace {
				t.foundNoRoom()
			}
		case p.stage == pending:
			t.refuse(p, ReasonNoRoom)
		default:
			t.send(p)
		}
	case forPreempt:
		if reason != "" {
			t.makeRoom()
			return
		}
		t.answer()
	case ahead:
		if reason != "" {
			t.decide(Decision{Reason: reason})
		}
		if reason == ReasonNoPlace && t.first().leads(t.view) {
			t.foundNoRoom()
		}
		if reason == ReasonNoPlace && t.isUnasked() {
			t.makeRoom()
		}
	case replan:
	}
}

// foundNoRoom notes since when there is no room.
func (t *attempt) foundNoRoom() {
	if g := t.first(); t.limits.SeekAfter > 0 && !t.limits.EvictNobody && g.noRoom.IsZero() {
		g.noRoom = t.now
	}
}

// planBy has a group planned by the profile that is in force for it. Results of another profile do not hold any
// more. Its patience begins, if it has not before.
func (t *attempt) planBy(g *group) {
	g.patience.begin(t.now)
	if store := t.view.Profile(g.schedulerName); store != g.store {
		g.store, g.looked = store, 0
	}
}

// hindered returns the reason why a bundle is not planned now, whatever the nodes.
func (t *attempt) hindered() (reason string) {
	if reason := t.incomplete(); reason != "" {
		return reason
	}
	return t.holdsEnough()
}

// incomplete returns the reason why members of a bundle cannot be planned together.
func (t *attempt) incomplete() (reason string) {
	g := t.first()
	for _, p := range t.parts {
		switch ready := len(p.plannable(t.now)); {
		case len(p.members) > 0 && (p.store == nil || p.store != g.store):
			g.waits(status.Unschedulable, "no profile of muster has the scheduler name of all members")
			return ReasonNoPlace
		case ready < p.missing() && len(p.candidates()) >= p.missing():
			g.waits(status.Unschedulable, p.left().whyLeft()+"; it is planned again after a rest")
			return ReasonNoPlace
		case ready < p.missing():
			lack := p.lacks(g)
			g.waits(lack.reason, lack.why)
			return ReasonSiblings
		}
	}
	return ""
}

// holdsEnough returns the reason why none of a bundle may have places now, unless it has some: its namespaces
// have reached the limit of groups with places.
func (t *attempt) holdsEnough() (reason string) {
	if t.limits.MaxHolding == 0 {
		return ""
	}
	for i, p := range t.parts {
		more := 0
		for _, other := range t.parts[i:] {
			if other.key.Namespace == p.key.Namespace && !other.holds() && other.missing() > 0 {
				more++
			}
		}
		switch holding := t.holding[p.key.Namespace]; {
		case more > t.limits.MaxHolding:
			t.first().waits(status.NamespaceLimit, fmt.Sprintf(
				"%d gangs of namespace %s start together, and %d may have places before they start (gangs.maxHoldingPerNamespace)",
				more, p.key.Namespace, t.limits.MaxHolding))
			return ReasonHolding
		case more > 0 && holding+more > t.limits.MaxHolding:
			t.first().waits(status.NamespaceLimit, fmt.Sprintf(
				"waiting for other gangs of namespace %s to start: %d have places, as many as may (gangs.maxHoldingPerNamespace)",
				p.key.Namespace, holding))
			return ReasonHolding
		}
	}
	return ""
}

// Lower returns the members that have places in gangs of a priority lower than another one's, and the nodes. A
// gang keeps its places if members are bound, or may have been let go to be.
func (s *State) Lower(above int32) (pods []*cluster.Pod, on []string) {
	for _, g := range s.lower(above) {
		for _, p := range g.those((*member).givesWay) {
			pods, on = append(pods, p.pod), append(on, p.place)
		}
	}
	return pods, on
}

// givesWay reports whether a member has a place that it can give up: one that is being deleted is on its node until it has gone.
func (p *member) givesWay() bool { return p.stage != pending && p.stage != leaving }

func (s *State) lower(above int32) []*group {
	return s.those(func(g *group) bool { return g.holds() && g.priority < above && g.recording == 0 && g.begun() == 0 })
}

func (e Outranked) apply(t *turn) { t.outrank(e.By, e.Priority, e.Nodes) }

// outrank denies the gangs of lower priority that have places on some nodes. It reports whether
// there were any.
func (t *turn) outrank(by string, above int32, nodes Nodes) bool {
	denied := false
	for _, g := range t.lower(above) {
		if len(g.those(func(p *member) bool { return p.givesWay() && nodes.Has(p.place) })) > 0 {
			t.deny(g, status.Unschedulable, fmt.Sprintf("its places were needed by %s, which has a higher priority", by), ErrOutranked)
			denied = true
		}
	}
	return denied
}
