package core

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// commit is a start that is on its way to being recorded. The members are held until then.
type commit struct {
	parts   []part // as they were counted: what is asked of them is frozen
	records []groupRecord
}

// groupRecord is the record of one of the groups.
type groupRecord struct {
	*group
	record record.Record
	there  []types.UID // the members, except the ones being deleted
}

// recorded notes the members that were there for the start: a pod that has run on since a former PodGroup
// counts once it has finished, though its age may not tell it from pods that had finished before.
func (r groupRecord) recorded() {
	for _, uid := range r.there {
		if p := r.members[uid]; p != nil {
			p.startOf = r.record.PodGroup
		}
		r.done.wasThere(uid, r.record.PodGroup)
	}
	r.dirty = true
}

// staying returns the members that are not being deleted, in no order.
func (g *group) staying() []types.UID {
	uids := make([]types.UID, 0, len(g.members))
	for uid, p := range g.members {
		if p.stage != leaving {
			uids = append(uids, uid)
		}
	}
	return uids
}

// commit has all members go that have come when they are enough in every part, and their nodes are still there.
// Calls of some may have ended meanwhile: with many members and a slow control plane there may be no moment in
// which the calls of all wait. The scheduler's word for each stands. Unless enough members to start together
// are bound already, the start is recorded on the PodGroups before.
func (t *turn) commit(parts []part) {
	t.keep(parts)
	for _, p := range parts {
		if !p.quorate() || p.recording != 0 {
			return
		}
	}
	if t.leaveLostPlaces(parts) {
		return // it is planned again
	}
	c, records := t.toRecord(parts)
	until := earliestEnd(parts)
	switch {
	case (len(records) > 0 || !startedAll(parts)) && !t.now.Before(until):
		return // it is denied when that is noticed
	case len(records) == 0:
		t.start(parts)
		return
	}
	t.lastCommit++
	t.commits[t.lastCommit] = c
	for _, p := range parts {
		p.recording = t.lastCommit
	}
	t.has(WriteRecords{t.lastCommit, records, until})
}

// toRecord returns the records to write: of the parts with a PodGroup whose members may not go yet.
func (t *turn) toRecord(parts []part) (*commit, []ToRecord) {
	c := &commit{parts: parts}
	var all []ToRecord
	for _, p := range parts {
		if p.spec.From == nil || p.mayFollow() {
			continue
		}
		r := record.Record{
			Members: p.letGo() + p.counts.came(), MinMember: p.spec.MinMember, Time: t.now.UTC(),
			PodGroup: p.spec.From.GetUID(), Since: p.oldest(), Until: p.youngest(), Room: p.room(),
		}
		c.records = append(c.records, groupRecord{p.group, r, p.staying()})
		all = append(all, ToRecord{p.key, p.spec.From, r})
	}
	return c, all
}

// All that have come go, if they are enough still, by what was asked for when they were counted.
func (e Recorded) apply(t *turn) {
	c := t.commits[e.Commit]
	if c == nil {
		return
	}
	delete(t.commits, e.Commit)
	if e.Err == nil {
		for _, r := range c.records {
			r.recorded()
		}
	}
	t.conclude(e.Commit, c, e.Err)
	for _, p := range c.parts {
		t.endIfStopped(p.group)
	}
}

func (t *turn) conclude(id CommitID, c *commit, err error) {
	denied := false
	for _, p := range c.parts {
		if p.recording != id || t.groups[p.key] != p.group { // or it is gone, and another one may have its name
			denied = true
		}
		if p.recording == id {
			p.recording = 0
		}
	}
	switch {
	case denied:
		return
	case errors.Is(err, record.ErrChanged):
		c.parts[0].again = t.now.Add(WakeRetry)
		return // the watch will show it
	case errors.Is(err, record.ErrFenced):
		t.deny(c.parts[0].group, status.Waiting, err.Error(), record.ErrFenced)
		return
	case err != nil:
		t.deny(c.parts[0].group, status.TimedOut, fmt.Sprintf("its start could not be recorded: %v", err), ErrUnrecorded)
		return
	}
	for _, r := range c.records {
		r.group.record = &r.record
	}
	c.goOn(t)
}

// goOn has all members go whose start is recorded, if they are enough still.
func (c *commit) goOn(t *turn) {
	t.keep(c.parts)
	for _, p := range c.parts {
		if !p.quorate() {
			return // some have left: the others are held for members to come
		}
	}
	if t.leaveLostPlaces(c.parts) || anyReserved(c.parts) && (leading{t}).waits(c.parts) {
		return // another scheduler leads, or the like: places are proven again
	}
	if anyReserved(c.parts) && !t.stopped {
		leading{t}.prove(c.parts, true) // the record may have taken its time
		return
	}
	t.start(c.parts)
}

// start ends the holds of all members. Those whose calls have ended have the time of the gang once more.
func (t *turn) start(parts []part) {
	for _, p := range parts {
		if !p.started() && !p.planned.IsZero() {
			t.has(Quorum{t.now.Sub(p.planned)})
		}
		p.failed, p.tries, p.courtesy = time.Time{}, tries{}, courtesy{}
		p.waits(status.None, "")
		for _, member := range p.members {
			member.went = member.stage == held || member.stage == kept || member.stage == reserved
		}
		for _, member := range p.in(held) {
			t.enter(member, binding) // ends the hold
		}
		for _, member := range p.in(kept) {
			t.enter(member, due)
			member.until = t.now.Add(p.spec.Timeout)
		}
		for _, member := range p.in(reserved) {
			leading{t}.letGo(member, p.spec.Timeout)
		}
	}
}

// leaveLostPlaces gives up members that have come whose node has gone, since the API server would bind them
// there all the same. It also gives up members that do not count on their node any more: an assumption expires
// when this process is stopped for longer than it lives, and others may have the room then. It reports whether
// there were any.
func (t *turn) leaveLostPlaces(parts []part) bool {
	left := false
	for _, p := range parts {
		for _, member := range p.in(held, kept, reserved) {
			switch {
			case t.view.Node(member.place) == nil:
				t.giveUp(member, ErrNodeGone)
			case t.view.Assumed(member.pod.UID) != member.place:
				t.giveUp(member, ErrUncounted)
			default:
				continue
			}
			left = true
		}
	}
	return left
}

// lastRecord returns the record of the last commit of a group, nil when there is none: what this
// process wrote, else what the PodGroup says. Anybody may write there, so that is never asked which one is later.
func (g *group) lastRecord() *record.Record {
	if g.record != nil || g.spec == nil {
		return g.record
	}
	return g.spec.Record
}

// leftHalf reports whether a start may have been left half done that counts in the order of groups, though no
// member is bound: one that this process has recorded, or one by a former process that has let members go to
// the places to which it had nominated them. A record alone proves nothing: otherwise anybody who may write to
// a PodGroup would choose which group is planned first. If no member is bound or on the way, nothing was left
// half done.
func (g *group) leftHalf() bool {
	return g.unfinished() != nil && (g.record != nil || g.anyUnderWay())
}

// anyUnderWay reports whether a member that muster has nominated has its gate off, where gangs start without
// calls. Both take rights that users who write pods and PodGroups do not have: to bind, or to write the status
// of pods.
func (g *group) anyUnderWay() bool {
	if g.store == nil || !g.store.Profile.PlacesGated() {
		return false
	}
	for _, p := range g.members {
		if p.stage < bound && !p.gated() && p.pod.Status.NominatedNodeName != "" && p.pod.NominatedBy() == cluster.FieldManager {
			return true
		}
	}
	return false
}

// unfinished returns the record of a commit that may have been left half done: fewer members than were asked
// for are bound, and one of the members of that time is not. It is nil when there is none.
func (g *group) unfinished() *record.Record {
	r := g.lastRecord()
	if r == nil || r.Time.Equal(g.completed) {
		return nil
	}
	for _, p := range g.members {
		if p.stage < bound && p.wasThere(r) {
			return r
		}
	}
	return nil
}

// oldest returns the time when the first of the present pods was created that are younger than the pods which do not
// count: by that time the two are told apart once they have finished.
func (g *group) oldest() time.Time {
	var former, oldest time.Time
	for _, p := range g.done.pods {
		if !g.done.counts(p) && p.created.After(former) {
			former = p.created
		}
	}
	first := func(created time.Time) {
		if created.After(former) && (oldest.IsZero() || created.Before(oldest)) {
			oldest = created
		}
	}
	for _, p := range g.members {
		first(p.pod.CreationTimestamp.Time)
	}
	for _, p := range g.done.pods {
		first(p.created)
	}
	return oldest.UTC()
}

// youngest returns when the last of the present members was created.
func (g *group) youngest() time.Time {
	var youngest time.Time
	for _, p := range g.members {
		if created := p.pod.CreationTimestamp.Time; created.After(youngest) {
			youngest = created
		}
	}
	return youngest.UTC()
}

// wasThere reports whether a member may belong to the members of a record. Older versions have not written down
// until when members came.
func (p *member) wasThere(r *record.Record) bool {
	until := r.Until
	if until.IsZero() {
		until = r.Time
	}
	return !p.pod.CreationTimestamp.After(until)
}

// leftBehind returns how many members were let go in the last start and are neither bound nor about to be. For
// the start of a former process it returns how many of the recorded members were not let go, but no more than
// there are members from that time.
func (g *group) leftBehind() int {
	r := g.unfinished()
	ours := r == nil || g.record != nil && r.Time.Equal(g.record.Time)
	left := 0
	for _, p := range g.members {
		if p.stage < due && (ours && p.went || !ours && p.wasThere(r)) {
			left++
		}
	}
	if !ours {
		left = min(left, max(r.Members-g.letGo(), 0))
	}
	return left
}

// complete notes that all members of the commit are bound. Where each batch starts as one, members of batches
// before it do not count for it.
func (g *group) complete() {
	r := g.lastRecord()
	if r == nil {
		return
	}
	toBind := r.MinMember
	if g.spec.InBatches() {
		toBind = r.Members
	}
	if g.wereBound() >= toBind {
		g.completed = r.Time
	}
}

// remembering notes what is to outlast the members of a group, during the application of an event.
type remembering struct{ *turn }

// quorum notes that enough members to start together are bound. Where that is enough for good it is written on
// the PodGroup, as members may be gone when the next process looks.
func (t remembering) quorum(g *group) {
	if g.satisfied || g.unasked() != nil || g.wereBound() < g.spec.MinMember {
		return
	}
	g.satisfied = true
	if r := g.lastRecord(); g.spec.Once() && g.spec.From != nil && r != nil && !r.Bound {
		satisfied := *r
		satisfied.Bound = true
		if g.record != nil {
			g.record = &satisfied
		}
		t.has(NoteBound{ToRecord{g.key, g.spec.From, satisfied}, t.now.Add(g.spec.Timeout)})
	}
}
