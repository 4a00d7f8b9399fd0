package gang

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// Recorder writes the records of commits.
type Recorder interface {
	// Write puts a record on a PodGroup as the members were counted for it. It returns when the
	// record is written, or must not be (record.ErrFenced, record.ErrChanged), or the context ends.
	Write(ctx context.Context, podGroup *unstructured.Unstructured, r record.Record) error
}

// commit is a start that is on its way to being recorded. The members are held until then.
type commit struct {
	parts   []part // as they were counted: what is asked of them is frozen
	records []toRecord
	until   time.Time // the first of the held calls, or the time of a group, is over
}

type toRecord struct {
	*group
	podGroup *unstructured.Unstructured
	record   record.Record
}

// commit has all held members go when there are enough in every part, and their nodes are
// still there. Unless as many as must start together are bound already, that is recorded on the
// PodGroups before.
func (m *Manager) commit(parts []part) {
	for _, p := range parts {
		if !p.quorate() || p.recording != nil {
			return
		}
	}
	if m.leaveLostPlaces(parts) {
		return // it is planned anew
	}
	c := &commit{parts: parts, records: m.toRecord(parts), until: earliestEnd(parts)}
	switch {
	case (len(c.records) > 0 || !startedAll(parts)) && !m.clock.Now().Before(c.until):
		return // expire denies it
	case len(c.records) == 0:
		m.start(parts)
		return
	}
	for _, p := range parts {
		p.recording = c
	}
	m.write(c)
}

// toRecord are the records to write: of the parts with a PodGroup whose members may not go yet.
func (m *Manager) toRecord(parts []part) []toRecord {
	var all []toRecord
	for _, p := range parts {
		if p.spec.From == nil || p.mayFollow() {
			continue
		}
		all = append(all, toRecord{p.group, p.spec.From, record.Record{
			Members: p.letGo() + p.counts[held], MinMember: p.spec.MinMember, Time: m.clock.Now().UTC(), Epoch: m.epoch(),
		}})
	}
	return all
}

// mayFollow says that members may go without another record: after as many as must start
// together that are bound, or that are recorded to have been let go. It is not enough that as
// many are on their way: those may have followed others that are gone, and fail.
func (p part) mayFollow() bool {
	if !p.started() {
		return false
	}
	return p.satisfiedOnce() || p.wereBound() >= p.spec.MinMember || p.unfinished() != nil
}

// wereBound is how many pods are bound, or were and have succeeded.
func (g *group) wereBound() int { return g.counts[bound] + g.done.succeeded.Len() }

// earliestEnd is when the first of the held calls ends, or the time of a group is over.
func earliestEnd(parts []part) time.Time {
	var end time.Time
	first := func(at time.Time) {
		if end.IsZero() || at.Before(end) {
			end = at
		}
	}
	for _, p := range parts {
		if !p.started() && !p.planned.IsZero() {
			first(p.deadline(p.spec))
		}
		for _, member := range p.in(held) {
			first(member.hold.until)
		}
	}
	return end
}

// writeRecords writes the records of a commit, without the lock, and says what came of it.
func (m *Manager) writeRecords(c *commit) {
	ctx, cancel := context.WithTimeout(context.Background(), c.until.Sub(m.clock.Now()))
	defer cancel()
	started := m.clock.Now()
	var err error
	for _, r := range c.records {
		if err = m.recorder.Write(ctx, r.podGroup, r.record); err != nil {
			break
		}
	}
	m.metrics.recording.Observe(m.clock.Since(started).Seconds())
	m.recorded(c, err)
}

// recorded ends a commit: all held members go, if they are enough still, by what was asked
// for when they were counted.
func (m *Manager) recorded(c *commit, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	defer func() {
		for _, p := range c.parts {
			m.endIfStopped(p.group)
		}
	}()
	denied := false
	for _, p := range c.parts {
		if p.recording == c {
			p.recording = nil
		} else {
			denied = true
		}
	}
	switch {
	case denied:
		return
	case errors.Is(err, record.ErrChanged):
		return // the watch will show it
	case errors.Is(err, record.ErrFenced):
		m.deny(c.parts[0].group, status.Waiting, err.Error(), record.ErrFenced)
		return
	case err != nil:
		m.deny(c.parts[0].group, status.TimedOut, fmt.Sprintf("its start could not be recorded: %v", err), errUnrecorded)
		return
	}
	for _, r := range c.records {
		r.group.record = &r.record
	}
	for _, p := range c.parts {
		if !p.quorate() {
			return // some have left: the others are held for those that come
		}
	}
	if !m.leaveLostPlaces(c.parts) {
		m.start(c.parts)
	}
}

// start ends the holds of all members.
func (m *Manager) start(parts []part) {
	for _, p := range parts {
		if !p.started() && !p.planned.IsZero() {
			m.metrics.quorum.Observe(m.clock.Since(p.planned).Seconds())
		}
		p.failed, p.satisfied, p.tries = time.Time{}, true, tries{}
		p.waits("", "")
		for _, member := range p.members {
			member.went = member.stage == held
		}
		for _, member := range p.in(held) {
			m.enter(member, binding) // ends the hold
		}
	}
}

// leaveLostPlaces gives up held members whose node has gone, to which the API server would bind
// them all the same, and those that do not count on it any more: an assumption expires when this
// process is stopped for longer than it lives, and others may have the room then. It says whether
// there were any.
func (m *Manager) leaveLostPlaces(parts []part) bool {
	snap, left := m.cluster.Snapshot(), false
	for _, p := range parts {
		for _, member := range p.in(held) {
			switch {
			case snap.NodeByName(member.place) == nil:
				m.giveUp(member, errNodeGone)
			case m.cluster.Assumed(member.pod.UID) != member.place:
				m.giveUp(member, errUncounted)
			default:
				continue
			}
			left = true
		}
	}
	return left
}

// lastRecord is the record of the last commit of a group, nil when there is none: what this
// process wrote, or the PodGroup says.
func (g *group) lastRecord() *record.Record {
	if g.spec == nil || g.spec.Record == nil || g.record != nil && g.record.Time.After(g.spec.Record.Time) {
		return g.record
	}
	return g.spec.Record
}

// unfinished is the record of a commit that may have been left half done: fewer members
// than were asked for are bound, and one of those that there were then is not. It is nil
// when there is none.
func (g *group) unfinished() *record.Record {
	r := g.lastRecord()
	if r == nil || r.Time.Equal(g.completed) {
		return nil
	}
	for _, p := range g.members {
		if p.stage != bound && p.wasThere(r) {
			return r
		}
	}
	return nil
}

// wasThere says that a member may be one of those that a record is of.
func (p *member) wasThere(r *record.Record) bool { return !p.pod.CreationTimestamp.After(r.Time) }

// leftBehind is how many members were let go in the last start and are neither bound nor about
// to be. Of the start of a former process that is what its record has more than were let go,
// but no more than there are members from that time.
func (g *group) leftBehind() int {
	r := g.unfinished()
	ours := r == nil || g.record != nil && r.Time.Equal(g.record.Time)
	left := 0
	for _, p := range g.members {
		if p.stage < binding && (ours && p.went || !ours && p.wasThere(r)) {
			left++
		}
	}
	if !ours {
		left = min(left, max(r.Members-g.letGo(), 0))
	}
	return left
}

// complete notes that all that was committed is bound. Where each batch starts as one, those
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
