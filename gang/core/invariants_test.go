package core

import (
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// count returns how many pods of a group are such.
func (w *world) count(group int, which func(*modelPod) bool) (count int) {
	for i := range w.pods {
		if w.groups[i] == group && which(&w.pod[i]) {
			count++
		}
	}
	return count
}

// counts reports whether a pod has succeeded in the present life of its group.
func (w *world) counts(i int) bool {
	g, p := &w.group[w.groups[i]], &w.pod[i]
	return p.phase == hasSucceeded && (p.created >= g.born || p.lived == g.life)
}

// wereBound is how many pods of a group are bound, or were and have succeeded.
func (w *world) wereBound(group int) (count int) {
	for i := range w.pods {
		if w.groups[i] == group && (w.pod[i].phase == isBound || w.counts(i)) {
			count++
		}
	}
	return count
}

// check says what of that does not hold that has to.
func (w *world) check(s step) {
	w.checkDue()
	w.checkStart()
	w.freed = nil
	if err := w.state.Check(w); err != nil {
		w.bad("%w", err)
	}
	ticked := s.kind == tick || s.kind == wait || s.kind == waitLong
	for i := range w.pods {
		p := &w.pod[i]
		member := w.state.member(w.uid(i))
		if known := member != nil && p.phase != absent; known && (member.hold != p.hold) {
			w.bad("%s waits for hold %d, and has %d", w.uid(i), p.hold, member.hold)
		}
		if p.hold != 0 && ticked && at(w.now).Sub(at(p.heldAt)) >= w.state.limits.Hold {
			w.bad("the call for %s is held for too long", w.uid(i))
		}
		if p.hold != 0 && w.state.stopped && len(w.commits) == 0 {
			w.bad("the call for %s is held by a process that has ended", w.uid(i))
		}
		if member != nil && member.stage == pending && p.phase == waits && p.place >= 0 && p.told == 0 && !p.mayBind {
			w.bad("%s is pending, and counts on %d", w.uid(i), p.place)
		}
		if p.phase == isBound && member != nil && member.stage != bound {
			w.bad("%s is bound, and %s", w.uid(i), member.stage)
		}
		if p.phase == isLeaving && member != nil && member.stage != leaving {
			w.bad("%s is being deleted, and %s", w.uid(i), member.stage)
		}
		if p.letGo && member != nil && member.stage != binding && member.stage != bound {
			w.bad("%s is let go, and %s", w.uid(i), member.stage)
		}
	}
	for group := range w.group {
		w.checkGroup(group, ticked)
		passes := s.kind == wait || s.kind == waitLong
		if g := w.state.groups[keyOf(group)]; g != nil && passes && g.failed.Equal(at(w.now)) && g.recording != 0 {
			w.bad("%s was denied, and its start is being recorded", g.key)
		}
	}
}

func (w *world) checkGroup(group int, ticked bool) {
	g := w.state.groups[keyOf(group)]
	mg := &w.group[group]
	if g == nil {
		mg.began, mg.frozen = 0, 0
		return
	}
	if w.state.Completed(keyOf(group)) {
		mg.frozen = 0
	}
	switch {
	case !g.holds() || g.clearing != nil:
		mg.began = -1
	case mg.began < 0:
		mg.began = w.now
	}
	if over := at(w.now).Sub(at(mg.began)) >= modelTimeout; ticked && mg.began >= 0 && over && g.holds() {
		w.bad("members of %s have places after the time is up", g.key)
	}
	if after := g.looked > w.moment || g.sought > w.moment; after {
		w.bad("%s was looked at in a generation to come", g.key)
	}
}

// checkDue checks that due members have come to their places, and keep them no longer than a gang may take.
// Members that the present step let go count as due.
func (w *world) checkDue() {
	for i := range w.pods {
		p, member := &w.pod[i], w.state.member(w.uid(i))
		is := member != nil && member.stage == due
		switch {
		case is && !p.owed:
			if p.owed, p.owedAt = true, w.now; p.came != p.place+1 && !w.ahead {
				w.bad("%s is let go, and the scheduler has not bound it to its place", w.uid(i))
			}
			w.freed = append(w.freed, int8(i))
		case !is && p.owed:
			w.bad("%s was let go, and is %v", w.uid(i), member)
		case is && at(w.now).Sub(at(p.owedAt)) >= modelTimeout:
			w.bad("%s was let go, and keeps its place for too long", w.uid(i))
		}
	}
}

// checkStart checks that the members that the last step let go are enough, and recorded.
func (w *world) checkStart() {
	for group := range w.group {
		now := 0
		for _, i := range w.freed {
			if w.groups[i] == group {
				now++
			}
		}
		if now == 0 {
			continue
		}
		mg := &w.group[group]
		asked := int(w.least[group][mg.variant])
		if mg.frozen > 0 {
			asked = min(asked, mg.frozen)
		}
		bound := w.wereBound(group)
		switch together := bound + w.count(group, func(p *modelPod) bool { return p.letGo || p.owed }); {
		case w.policy == string(v1alpha1.MatchOnlyWaiting):
			left := w.count(group, func(p *modelPod) bool { return p.left && p.phase == waits })
			for i := range w.pods {
				w.pod[i].left = w.pod[i].left && w.groups[i] != group
			}
			if left > 0 {
				asked = min(asked, left)
			}
			if now < asked {
				w.bad("%d members of %s are let go, %d have to start together", now, groupNames[group], asked)
			}
		case together < asked:
			w.bad("members of %s are let go when %d are bound or let go, %d have to start together", groupNames[group], together, asked)
		case bound == 0 && mg.frozen == 0:
			w.bad("members of %s are let go, none is bound, and nothing is recorded", groupNames[group])
		}
		if w.bundle {
			w.checkBundle(1 - group)
		}
	}
}

// checkRecords checks whether a start has to be recorded: members may follow members of a recorded start that
// are on their way.
func (w *world) checkRecords(c WriteRecords) {
	for _, r := range c.Records {
		group := int(r.Group.Name[0] - 'a')
		mg := &w.group[group]
		bound := w.wereBound(group)
		if mg.frozen == 0 || bound >= mg.frozen || w.policy != "" {
			continue // there is no start that is not over
		}
		asked := min(int(w.least[group][mg.variant]), mg.frozen)
		on := w.count(group, func(p *modelPod) bool { return (p.letGo || p.owed) && !at(p.created).After(mg.record.Time) })
		if on > 0 && w.wereBound(group)+w.count(group, func(p *modelPod) bool { return p.letGo || p.owed }) >= asked {
			w.bad("a start of %s is recorded once more", groupNames[group])
		}
	}
}

// checkBundle says whether the other group of two that start together has started.
func (w *world) checkBundle(other int) {
	asked := int(w.least[other][w.group[other].variant])
	if frozen := w.group[other].frozen; frozen > 0 {
		asked = min(asked, frozen)
	}
	if started := w.wereBound(other) + w.count(other, func(p *modelPod) bool { return p.letGo || p.owed }); started < asked {
		w.bad("%s starts, and %d of %d members of %s", groupNames[1-other], started, asked, groupNames[other])
	}
}
