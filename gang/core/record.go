package core

import (
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/record"
)

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
