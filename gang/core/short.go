package core

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// Lost returns the gangs that run with fewer members than must run together, while other members wait for a place: these go
// before all pods of no higher priority, since what runs is of no use without them. It leaves out gangs of a priority lower
// than least, gangs without a place at that generation of the cluster, and the gang of a pod.
func (s *State) Lost(least int32, generation uint64, but types.UID) []membership.Key {
	var lost []*group
	own := s.groupOf[but]
	for g := range s.partly {
		if g == own || g.letGo() == 0 || g.priority < least || g.looked == generation {
			continue
		}
		if parts, not := s.together(g); not == nil && anyMissing(parts) {
			lost = append(lost, g)
		}
	}
	slices.SortFunc(lost, before)
	keys := make([]membership.Key, 0, len(lost))
	for _, g := range lost {
		keys = append(keys, g.key)
	}
	return keys
}

// isPartly reports whether some members of a group wait, and others do not, or have finished.
func (g *group) isPartly() bool {
	return g.counts[pending] > 0 && (len(g.members) > g.counts[pending] || len(g.done.pods) > 0)
}

// counted notes that members of a group have come, gone, finished or changed their stage.
func (s *State) counted(g *group) {
	if g.isPartly() {
		s.partly[g] = struct{}{}
	} else {
		delete(s.partly, g)
	}
}

// A gang that starts without calls of the scheduler's may stay short: its gates were lifted, and too few
// members were bound. There is no place for the others, or the scheduler refuses them for a reason unknown to
// muster. The members that run do so in vain, and keep room. After [Limits.BreakAfter] they are evicted, so
// that their controllers make them again and the gang waits whole. A gang that was whole once is left alone.

// breakShort breaks up the gangs that have been short for long enough.
func (t breakup) breakShort() {
	if t.limits.BreakAfter == 0 {
		return
	}
	for _, g := range t.those(func(g *group) bool { return g.leads(t.view) }) {
		parts, not := t.together(g)
		switch {
		case not != nil || !isShort(parts):
			g.short = time.Time{}
		case g.short.IsZero():
			g.short = t.now
		case !t.now.Before(g.short.Add(t.limits.BreakAfter)):
			g.short = time.Time{}
			for _, p := range parts {
				t.doomAll(p.group, math.MaxInt32, g)
			}
		}
	}
}

// isShort reports whether fewer of a bundle are bound than must run together, after a start that was not completed. The
// others may have places, and the scheduler refuse them there again and again.
func isShort(parts []part) bool {
	lacks := func(p part) bool { return !p.satisfiedOnce() && p.wereBound() < p.spec.MinMember }
	return slices.ContainsFunc(parts, lacks) && slices.ContainsFunc(parts, func(p part) bool { return p.unfinished() != nil })
}

// ends reports whether members of a bundle are about to be evicted, as too few of them run. They count until that shows,
// so nothing is planned beside them.
func (t breakup) ends(parts []part) bool {
	going := 0
	for uid := range t.doomed {
		for _, p := range parts {
			if member := p.members[uid]; member != nil && member.stays() {
				going++
			}
		}
	}
	if going > 0 {
		parts[0].waits(status.Evicting, fmt.Sprintf("waiting for %d of its members to be evicted: too few of them run", going))
	}
	return going > 0
}

// When victims leave a gang with fewer members than must run together, the others are useless. They are evicted
// as well, so that its controller makes all of them again and the gang waits whole. That happens once the gang
// is too small, and not before: the preemptor may lose its places first, and then nobody goes.

// breaking are gangs that the victims of another one break.
type breaking struct {
	below   int32              // only members of a lower priority go
	bundles [][]membership.Key // of groups that start together
}

// doom names the members of a broken gang that have to go.
type doom struct {
	group         membership.Key // of the pod
	by            membership.Key // the preemptor
	schedulerName string         // of the preemptor's members
	again         time.Time      // when the pod is evicted again if it is not going by then
}

// broken returns the gangs that evictions made together leave with too few members.
func (t *Terms) broken(victims []types.UID) []*group {
	lost := map[*group]int{}
	for _, uid := range victims {
		if g := t.groupOf[uid]; g != nil && !t.goes(g.members[uid].pod) {
			lost[g]++
		}
	}
	var broken []*group
	for g, count := range lost {
		if limit := t.limit(g); limit != nil && count > limit.Allowed {
			broken = append(broken, g)
		}
	}
	slices.SortFunc(broken, byKey)
	return broken
}

// breakup breaks gangs up, during the application of an event.
type breakup struct{ *turn }

// breaks says which gangs the victims of some parts would break.
func (t breakup) breaks(parts []part, victims map[string][]Victim) breaking {
	if !t.limits.EvictWhole {
		return breaking{}
	}
	terms := t.termsFor(parts)
	b := breaking{below: terms.below}
	var uids []types.UID
	for _, of := range victims {
		for _, v := range of {
			uids = append(uids, v.Pod.UID)
		}
	}
	for _, g := range terms.broken(uids) {
		var bundle []membership.Key
		for _, p := range terms.bundleOf(g) {
			bundle = append(bundle, p.key)
		}
		b.bundles = append(b.bundles, bundle)
	}
	return b
}

// endClearing has a group wait for no victims any more. Evictions until then may have broken gangs.
func (t breakup) endClearing(g *group) {
	if g.clearing != nil {
		t.breakUp(g)
		g.clearing = nil
	}
}

// breakUp dooms what is left of gangs that evictions for a group have broken by now.
func (t breakup) breakUp(by *group) {
	b := &by.clearing.breaking
	b.bundles = slices.DeleteFunc(slices.Clone(b.bundles), func(bundle []membership.Key) bool {
		if !slices.ContainsFunc(bundle, t.isTooSmall) {
			return false
		}
		taken := 0
		for _, key := range bundle {
			if g := t.groups[key]; g != nil {
				taken += t.doomAll(g, b.below, by)
			}
		}
		if taken > 0 {
			t.has(TakenAlong{by.key, taken})
		}
		return true
	})
}

// isTooSmall reports whether fewer members of a group run, and go on to, than must run together.
func (t breakup) isTooSmall(key membership.Key) bool {
	g := t.groups[key]
	if g == nil {
		return true
	}
	spec, not := g.asked()
	return not == nil && g.done.succeeded+len(g.those((*member).stays)) < spec.MinMember
}

// stays reports whether a member runs and is not going.
func (p *member) stays() bool { return p.stage == bound }

// doomAll dooms the members of a group that run, and returns how many were not doomed before.
func (t breakup) doomAll(g *group, below int32, by *group) (more int) {
	for _, p := range g.those((*member).stays) {
		if priority(p.pod) < below {
			if _, already := t.doomed[p.pod.UID]; !already {
				more++
			}
			t.doomed[p.pod.UID] = doom{group: g.key, by: by.key, schedulerName: by.schedulerName}
		}
	}
	return more
}

// evictDoomed evicts the pods that are doomed and not going yet.
func (t breakup) evictDoomed() {
	var due []*member
	for uid, d := range t.doomed {
		switch g := t.groupOf[uid]; {
		case g == nil || g.key != d.group || !g.members[uid].stays():
			delete(t.doomed, uid)
		case !t.now.Before(d.again):
			due = append(due, g.members[uid])
		}
	}
	slices.SortFunc(due, byTurn)
	for _, p := range due {
		d := t.doomed[p.pod.UID]
		d.again = t.now.Add(EvictRetry)
		t.doomed[p.pod.UID] = d
		t.has(Evict{d.by, p.pod})
	}
}
