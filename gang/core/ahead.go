package core

import (
	"fmt"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// A gang of a profile with gates: UntilPlace starts without any call of the scheduler's, by what the API has:
// its members are gated until all of them have places, and their room is kept.
//
// A plan gives them places. The gated ones are nominated there, which has the scheduler keep the room from pods
// of the same and of lower priority, unless it can be shown that nobody is in their way. A member whose
// nomination the watch shows is reserved. Once all members with a place are reserved, and the scheduler has had
// its time to act on what it saw before ([Limits.Margin], if any other pod waited by then), the places are
// proven once more: nothing that was bound meanwhile may be in them. Then the start is recorded, they are
// proven again, and all gates are lifted together. A member that loses its place before that has lost nothing
// else: the gate is still on. Afterwards a member is due until it is bound. A member that the scheduler refuses
// is planned again, and rests in between: see [lag].

// leading has gangs start without calls, during the application of an event.
type leading struct{ *turn }

// leads reports whether a group starts without calls of the scheduler.
func (g *group) leads(view View) bool {
	store := view.Profile(g.schedulerName)
	return store != nil && store.Profile.PlacesGated()
}

// reserve has room kept for a member that has just got a place.
func (t leading) reserve(p *member, contested bool) {
	p.toldAt = t.now
	switch nominated := p.pod.Status.NominatedNodeName; {
	case nominated == "" && p.gated() && !contested:
		t.keepsRoom(p, record.RoomUncontested)
	case nominated == p.place && p.gated(): // by a former plan: the scheduler may have been restarted since
		t.tellAnew(p)
		return
	case nominated == p.place:
		t.keepsRoom(p, record.RoomNominated)
	case nominated != "" && p.pod.NominatedBy() != cluster.FieldManager:
		return // it goes where somebody else has nominated it, or is planned again when the time is up
	default:
		t.nominate(p)
	}
	if !p.gated() && p.sleeps() {
		t.has(Wake{p.pod.UID})
	}
}

// keepsRoom notes that the place of a member is kept so.
func (t leading) keepsRoom(p *member, by record.Room) {
	t.enter(p, reserved)
	p.room = by
	if by == record.RoomNominated {
		t.groupOf[p.pod.UID].rivals = t.view.Came()
	}
}

// nominate tells the scheduler of the place of a member, unless that is on its way.
func (t leading) nominate(p *member) {
	if !p.posted {
		p.posted = true
		t.has(Nominate{p.pod.UID})
	}
}

// inheritance is how long the room of nominations is kept that a former process made. By then there is a plan, or none.
const inheritance = 5 * time.Second

// disown has nominations without a plan taken back: nominations by a former process, and nominations that could
// not be taken back before.
func (t leading) disown(g *group) {
	for _, p := range g.in(pending) {
		switch {
		case p.inherited && !t.now.Before(p.since.Add(inheritance)):
			p.inherited = false
			steering(t).withdraw(p)
		case p.claim != "" && p.pod.Status.NominatedNodeName != p.claim && !t.now.Before(p.toldAt.Add(WakeRetry)):
			p.toldAt = t.now // it was not written, or somebody took it back
			t.has(Nominate{p.pod.UID})
		case p.withdrawn == "" && !t.now.Before(p.toldAt.Add(WakeRetry)): // a gated pod has no event that would have it tried again
			p.toldAt = t.now
			steering(t).withdraw(p)
		}
	}
}

// anyInherited reports whether a former process has kept room for members that have no place: it may be victims that they
// wait for.
func anyInherited(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return len(p.those(func(member *member) bool { return member.inherited })) > 0
	})
}

// stale is how long a place counts as shown to be uncontested. A member that is not let go by then has it
// reserved.
const stale = 2 * time.Second

// remind tells the scheduler again of places if the watch does not show that it was told, or if it was told
// long ago and may have been restarted since.
func (t leading) remind(g *group) {
	for _, p := range g.in(placed, reserved) {
		switch {
		case p.stage == reserved && p.room == record.RoomUncontested && p.gated() && !t.now.Before(p.since.Add(stale)):
			t.enter(p, placed)
			t.reserve(p, true)
		case p.stage == reserved && !t.now.Before(p.since.Add(t.limits.Remind)):
			t.tellAnew(p)
		case p.stage == placed && p.forgotten == "" && !t.now.Before(p.toldAt.Add(WakeRetry)):
			t.reserve(p, true)
		}
	}
}

// tellAnew has a gated member updated that is nominated to its place: the scheduler counts it there from then on.
func (t leading) tellAnew(p *member) {
	if p.gated() && p.pod.Status.NominatedNodeName == p.place {
		p.forgotten = p.pod.ResourceVersion
		t.enter(p, placed)
		t.has(Wake{p.pod.UID})
	}
}

// lapse gives up members that were let go to a node that has gone, or were not bound in time. A member whose gate is still
// on, and whose room is not kept, is nominated again.
func (t leading) lapse(g *group) {
	for _, p := range g.in(due) {
		switch {
		case t.view.Node(p.place) == nil:
			t.isLeft(p, ErrNodeGone)
		case !t.now.Before(p.until):
			t.isLeft(p, ErrTimeout)
		case p.gated() && !p.hasItsRoom() && !t.now.Before(p.toldAt.Add(WakeRetry)):
			p.toldAt = t.now
			t.nominate(p)
		}
	}
}

// shown takes in what the watch shows of a member that is not bound, and how it was before.
func (t leading) shown(p *member, before *cluster.Pod) {
	if p.pod.ResourceVersion == p.forgotten {
		return
	}
	p.forgotten = ""
	switch {
	case p.stage == placed && p.pod.Status.NominatedNodeName == p.place:
		t.keepsRoom(p, record.RoomNominated)
	case p.stage == reserved && before.Status.NominatedNodeName == p.place && p.pod.Status.NominatedNodeName != p.place:
		t.enter(p, placed)
		if p.gated() { // else the scheduler took it back, when it had tried the pod: it is told again by remind
			t.nominate(p)
		}
	case p.stage == due && !p.gated() && p.pod.Unschedulable() && !before.Unschedulable():
		t.isLeft(p, ErrScheduler)
	}
}

// isLeft gives up the place of a member that was let go and that the scheduler has not bound there.
func (t leading) isLeft(p *member, why error) {
	p.behind = true
	if p.gated() {
		t.groupOf[p.pod.UID].waits(status.Waiting, fmt.Sprintf("%s was not let go to %s in time; it is planned again", p.pod.Name, p.place))
	} else {
		p.rest(t.now)
	}
	t.giveUp(p, why)
}

// left returns a member that was let go and is not bound, nil when there is none.
func (g *group) left() *member {
	left := g.those(func(p *member) bool { return p.nextRest > 0 && p.stage < binding })
	if len(left) == 0 {
		return nil
	}
	return left[0]
}

// whyLeft says of a member that was let go and is not bound where the reason stands.
func (p *member) whyLeft() string {
	return p.pod.Name + " was let go and is not bound: its condition PodScheduled says why"
}

// lag says how a member lags behind the others of its gang.
type lag struct {
	// behind says that others came in a plan which came to nothing, and it did not, or that it was let go and not bound.
	// It may come yet.
	behind bool
	// A member that had a place, was let go, and was not bound is left to the scheduler for a while. The scheduler may
	// refuse it by itself, for a volume or a claim that muster knows nothing of, and its place stands idle while it is
	// tried. It is planned again at once, and then after rests that double until it holds a place for a tenth of the time.
	restsUntil time.Time
	nextRest   time.Duration
}

// rest begins a rest.
func (l *lag) rest(now time.Time) {
	l.restsUntil, l.nextRest = now.Add(l.nextRest), min(max(2*l.nextRest, followUp), restShare*followUp)
}

// plannable returns the candidates that do not rest.
func (g *group) plannable(now time.Time) []*member {
	return slices.DeleteFunc(g.candidates(), func(p *member) bool { return now.Before(p.restsUntil) })
}

// mayGo selects the gated members of a group whose gates have no reason any more: members that were let go and
// have their room still, and members that found no place. For the latter the scheduler may evict others, and
// autoscalers see them. Both go only while the group counts as started: it may have been created again
// meanwhile.
func (t leading) mayGo(g *group) func(*member) bool {
	parts, not := t.bundle(g)
	if not != nil || !startedAll(parts) {
		return func(*member) bool { return false }
	}
	noPlace := !t.limits.WaitWhenShort && g.looked != 0 && !parts[0].spec.AsksNetwork() // nobody else obeys that
	return func(p *member) bool {
		return p.stage == due && p.hasItsRoom() || noPlace && p.stage == pending && p.ready()
	}
}

// hasItsRoom reports whether the room of a member that was let go is kept, or need not be.
func (p *member) hasItsRoom() bool {
	return p.room != record.RoomNominated || p.pod.Status.NominatedNodeName == p.place
}

// wants reports whether members of a gang that has started have no place yet, which nobody else finds for them.
func (t leading) wants(parts []part) bool {
	if !startedAll(parts) || !parts[0].leads(t.view) && !parts[0].spec.AsksNetwork() {
		return false
	}
	return slices.ContainsFunc(parts, func(p part) bool { return len(p.plannable(t.now)) > 0 })
}

// ConfirmDue has the places of a group proven, once their time has come.
func (e ConfirmDue) apply(t *turn) {
	g := t.groups[e.Group]
	if g == nil || g.counts[reserved] == 0 || t.now.Before(g.again) {
		return
	}
	parts, not := t.bundle(g)
	if not != nil || (leading{t}).waits(parts) {
		return
	}
	leading{t}.prove(parts, false)
}

// prove has the places of reserved members proven. If no place is lost, all go, once their start is recorded. Members
// whose places are lost are planned again, with their gates on.
func (t leading) prove(parts []part, recorded bool) {
	reservations := Search{Store: parts[0].store, Within: t.commons(parts)}
	for _, p := range parts {
		reservations.Parts = append(reservations.Parts, p.wanted(p.in(reserved)))
	}
	lost := t.ports.FindLost(reservations)
	t.now = t.ports.Now()
	for _, uid := range lost {
		if p := t.member(uid); p != nil {
			t.giveUp(p, ErrPlaceLost)
		}
	}
	switch {
	case len(lost) > 0:
		parts[0].waits(status.Waiting, "places that were planned for it are lost; it is planned again")
		(&attempt{turn: t.turn, purpose: replan, parts: parts}).plan()
	case recorded:
		t.start(parts)
	default:
		t.commit(parts)
	}
}

// waits reports whether a bundle is not to start yet: too few have come, victims are still there, a start is
// being recorded, or the scheduler may not have seen all reservations. It may have taken up other pods before,
// and have chosen their places, until the watch shows the fate of these pods. Pods that were refused before may
// be tried again at any time: the margin is for them. It is left out if none of the pods that had come still
// waits, for any scheduler: a watch shows reservations before the pods that come later. (A watch that starts
// over lists them in any order.) It is never left out for members that may go nowhere else: nobody
// is asked about them when they go, and pods that the scheduler counts there still would send them elsewhere.
func (t leading) waits(parts []part) bool {
	for _, p := range parts {
		if !p.quorate() || p.recording != 0 {
			return true
		}
		unkept, early := t.settling(p)
		if unkept || early && t.view.Waits(p.rivals) || t.view.Untried(p.schedulerName, p.rivals, t.now.Add(-undecided)) {
			return true
		}
	}
	return t.awaiting(parts, nil)
}

// settling reports whether the room of a member is not kept yet, or not for long enough where it may go nowhere else; and whether the
// scheduler may not have seen all reservations yet.
func (t leading) settling(p part) (unkept, early bool) {
	for _, member := range p.members {
		settles := member.stage == reserved && t.now.Before(member.since.Add(t.limits.Margin))
		switch {
		case member.stage == placed && member.gated(), member.stage == reserved && t.view.Blocked(member.pod.UID):
			return true, false
		case settles && p.spec.BindsPlaces():
			return true, false
		case settles && member.pod.Status.NominatedNodeName != "":
			early = true
		}
	}
	return false, early
}

// undecided is how long the scheduler may take to decide about a pod that has come, and to say so: by default it makes
// 50 calls a second. Afterwards nobody may be there to try the pod, or something holds it back that nobody sees.
const undecided = 30 * time.Second

// followUp is how long a member is left to the scheduler that it has refused before: it does not say so again.
const followUp = 10 * time.Second

// room says how the places of members are kept that are reserved, the weakest way of several; "" when there are none.
func (g *group) room() record.Room {
	room := record.Room("")
	for _, p := range g.members {
		if p.stage == reserved && (room == "" || p.room != record.RoomNominated) {
			room = p.room
		}
	}
	return room
}

// Reserved returns the groups whose room is kept, in the order in which they are planned.
func (s *State) Reserved() []membership.Key {
	groups := s.those(func(g *group) bool { return g.counts[reserved] > 0 }) // this is asked often, and there are few
	slices.SortFunc(groups, before)
	keys := make([]membership.Key, 0, len(groups))
	for _, g := range groups {
		keys = append(keys, g.key)
	}
	return keys
}

// letGo has the gates of members lifted that are due, each for as long as a gang may take.
func (t leading) letGo(p *member, timeout time.Duration) {
	t.enter(p, due)
	if p.behind {
		timeout = min(timeout, followUp)
	}
	p.until = t.now.Add(timeout)
	if p.canLift(t.now) {
		gating(t).lift(p)
	} else {
		t.staysGated(p)
	}
}

// staysGated nominates a member that was let go but whose gate stays on for a while, so that its room is kept. That nobody
// contests the room was shown only for the moment when the gate was to be lifted. It is lifted once the nomination is there.
func (t leading) staysGated(p *member) {
	if p.stage == due && p.room != record.RoomNominated && p.gated() && p.gate == shut {
		p.room, p.toldAt = record.RoomNominated, t.now
		t.nominate(p)
	}
}

// A scheduler that has just begun to lead learns of a gated pod's nomination only when that pod is next updated, so these
// pods are updated here.
func (SchedulerChanged) apply(t *turn) {
	for _, g := range t.those((*group).holds) {
		if !g.leads(t.view) {
			continue
		}
		for _, p := range g.in(placed, reserved) {
			leading{t}.tellAnew(p)
		}
	}
}

// anyReserved reports whether members go only when their places are proven: see [ConfirmDue].
func anyReserved(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.counts[reserved] > 0 })
}
