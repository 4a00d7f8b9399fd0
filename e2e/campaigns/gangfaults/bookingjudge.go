package gangfaults

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/muster"
)

// Kinds of findings about room in time.
const (
	starvedFound   = "large gang starves"
	ownerlessFound = "room is booked for nobody"
	notLeaderFound = "another one than the leader books room"
	keptIdleFound  = "room is kept for a gang that does not start"
	heldBackFound  = "held back though it takes no room"
	evictedFound   = "evicted for room in time"
)

// Figures about room in time.
const (
	bookingsFigure = "bookings"
	endsFigure     = "small_pods_ended"
	passedFigure   = "small_pods_passed" // were bound while room was booked
)

const (
	// mostRounds is for how many rounds a gang may wait that could start. In a round one small pod ends for each that has room at once, and
	// leaves room that the gang could have had. A gang that could have no booking once gives way to others for half a minute, which is ten
	// rounds or so, and that may happen more than once.
	mostRounds = 30
	// mostLooks is for how many looks on end something may be that muster ends as soon as it sees it.
	mostLooks = 20
	// mostIdle is how long a gang may have a booking and all its room in the calm, and not start: twice what muster gives it.
	mostIdle = time.Minute
	// stuckLooks is for how many looks nothing may happen at all while a gang waits that could start.
	stuckLooks = 240
	// leastLooks is how often it is looked at least in the calm, and hopelessLooks where a gang is that cannot start.
	leastLooks, hopelessLooks = 4, 60
)

// streaks counts for how many looks on end something has been so, by a name.
type streaks map[string]int

// next counts one more look, and returns the names that have come to a bound with it.
func (s streaks) next(names []string, bound int) (come []string) {
	for name := range s {
		if !slices.Contains(names, name) {
			delete(s, name)
		}
	}
	for _, name := range names {
		if s[name]++; s[name] == bound {
			come = append(come, name)
		}
	}
	return come
}

// judgeStarved tells of the gangs that could start in the calm, and did not while many rounds of small pods ended, and of what waited
// for longest, in rounds. A gang that starts is progress: the others may wait for it.
func judgeStarved(all []look, places int) (findings []finding, worst float64) {
	type wait struct{ ends, started, looks int }
	waits, told := map[string]wait{}, map[string]bool{}
	for i := range all {
		l := &all[i]
		next := map[string]wait{}
		for _, name := range l.could {
			w, waited := waits[name]
			if !l.calm {
				continue
			}
			if !waited || w.started != l.started {
				w = wait{ends: l.ends, started: l.started}
			}
			rounds := float64(l.ends-w.ends) / float64(places)
			if w.looks++; i > 0 && l.ends != all[i-1].ends {
				w.looks = 0
			}
			next[name], worst = w, max(worst, rounds)
			if (rounds > mostRounds || w.looks > stuckLooks) && !told[name] {
				told[name] = true
				findings = append(findings, faultcampaign.Found(
					starvedFound, "gang %s could start, and has not in %.1f rounds of small pods", name, rounds,
				))
			}
		}
		waits = next
	}
	return findings, worst
}

// judgeOwners tells of room that is booked for nobody, or for a gang that may have none, for more looks on end than muster may be behind,
// and of musters that book room and do not lead.
func judgeOwners(all []look, beside []muster.RoomInTime, behind time.Duration) (findings []finding) {
	nobodys, followers := streaks{}, streaks{}
	bound := mostLooks + int(behind/lookApart)
	for i := range all {
		l := &all[i]
		if l.blind {
			continue
		}
		var without, following []string
		if l.pods > 0 && !slices.Contains(l.wants, l.owner) {
			without = []string{"gang " + l.owner}
		}
		if l.pods > 0 && !l.leads {
			following = []string{"leader"}
		}
		for _, name := range nobodys.next(without, bound) {
			findings = append(findings, faultcampaign.Found(
				ownerlessFound, "for %d looks on end room is booked for %s, which is gone, has started or cannot have room", bound, name,
			))
		}
		for range followers.next(following, mostLooks/4) {
			findings = append(findings, faultcampaign.Found(notLeaderFound, "for %d looks on end", mostLooks/4))
		}
	}
	booked := 0
	for _, said := range beside {
		if !said.Leads && said.Booked() > 0 {
			booked++
		}
	}
	if booked > 1 { // one may be from when its term ended
		findings = append(
			findings,
			faultcampaign.Found(notLeaderFound, "%d of %d looks at one that stands by see a booking", booked, len(beside)),
		)
	}
	return findings
}

// judgeKept tells of gangs that have a booking and all their room, and do not start for long.
func judgeKept(all []look, late time.Duration) (findings []finding) {
	since, of := time.Time{}, ""
	for i := range all {
		l := &all[i]
		if l.blind {
			continue
		}
		if !l.calm || l.owner == "" || !slices.Contains(l.room, l.owner) || l.owner != of {
			since, of = l.at, l.owner
			continue
		}
		if kept := l.at.Sub(since); kept > mostIdle+late {
			findings = append(findings, faultcampaign.Found(
				keptIdleFound, "gang %s has had a booking and all its room for %s", of, kept.Round(time.Second),
			))
			since = l.at
		}
	}
	return findings
}

// judgeHeldBack tells of pods that wait for many looks on end in the calm and have room: they take none that a gang asks for, or end
// before, and nobody else takes the room.
func judgeHeldBack(all []look) (findings []finding) {
	light, short := streaks{}, streaks{}
	for i := range all {
		l := &all[i]
		if l.blind {
			continue
		}
		if !l.calm || i > 0 && l.binds != all[i-1].binds {
			clear(short)
		}
		if !l.calm {
			clear(light)
			continue
		}
		for _, name := range append(light.next(l.light, 2*mostLooks), short.next(l.short, mostLooks)...) {
			findings = append(findings, faultcampaign.Found(heldBackFound, "pod %s", name))
		}
	}
	return findings
}

// judgeRoomEvictions tells of pods that had to go for a pod of no higher priority: nobody has to for a booking.
func judgeRoomEvictions(history []entry) (findings []finding) {
	pods := map[types.UID]*corev1.Pod{}
	for _, e := range history {
		switch {
		case e.pod != nil:
			pods[e.pod.UID] = e.pod
		case e.event != nil && e.event.Reason == "Preempted":
			victim := pods[e.event.InvolvedObject.UID]
			_, by, _ := strings.Cut(e.event.Message, "Preempted by pod ")
			uid, _, _ := strings.Cut(by, " ")
			if preemptor := pods[types.UID(uid)]; preemptor != nil && victim != nil && priorityOf(preemptor) > priorityOf(victim) {
				continue
			}
			findings = append(findings, faultcampaign.Found(evictedFound, "pod %s: %s", e.event.InvolvedObject.Name, e.event.Message))
		}
	}
	return findings
}

// isOver reports whether nothing more is to be seen of a run by its looks.
func isOver(all []look, s *script) bool {
	least := leastLooks
	for _, g := range s.gangs {
		if g.hopeless() {
			least = hopelessLooks
		}
	}
	if starved, _ := judgeStarved(all, s.places()); len(starved) > 0 {
		return true
	}
	if len(all) < least {
		return false
	}
	for i := range all[len(all)-least:] {
		if l := &all[len(all)-least+i]; !l.calm || i >= least-leastLooks && len(l.could) > 0 {
			return false
		}
	}
	now := &all[len(all)-1] // what is kept is looked at until it ends
	return len(judgeKept(all, 0)) > 0 || !slices.Contains(now.room, now.owner)
}

// places is how many small pods have room at once, of half a core each.
func (s *script) places() int { return max(1, len(s.nodes)*coresOfANode) }

// books adds up what came of room in time in all runs. Its methods are safe for concurrent use.
type books struct {
	mu     sync.Mutex
	found  map[string]int
	rounds float64
}

// judge makes findings of the looks of a run, and counts.
func (b *books) judge(l *looks, entries []entry, s *script, late time.Duration) (findings []finding, counts map[string]int) {
	l.mu.Lock()
	beside := slices.Clone(l.beside)
	l.mu.Unlock()
	all := l.past()
	findings, worst := judgeStarved(all, s.places())
	findings = slices.Concat(
		findings, judgeOwners(all, beside, s.behind), judgeKept(all, late), judgeHeldBack(all), judgeRoomEvictions(entries),
	)
	counts = map[string]int{}
	for i := range all {
		counts[endsFigure] = all[i].ends
		if i > 0 && all[i].owner != "" && all[i].owner != all[i-1].owner {
			counts[bookingsFigure]++
		}
		if i > 0 && all[i].owner != "" && all[i].owner == all[i-1].owner {
			counts[passedFigure] += all[i].binds - all[i-1].binds
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found == nil {
		b.found = map[string]int{}
	}
	for _, f := range findings {
		b.found[f.What]++
	}
	b.rounds = max(b.rounds, worst)
	return findings, counts
}

// figures prints what was found in all runs, and in how many rounds of small pods the last gang started.
func (b *books) figures(out io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range []struct{ name, found string }{
		{"reserve_starved", starvedFound},
		{"reserve_without_owner", ownerlessFound},
		{"reserve_by_followers", notLeaderFound},
		{"reserve_kept_idle", keptIdleFound},
		{"reserve_held_back", heldBackFound},
		{"reserve_evicted", evictedFound},
	} {
		fmt.Fprintf(out, "figure %s=%d\n", f.name, b.found[f.found])
	}
	fmt.Fprintf(out, "figure reserve_rounds_max=%.1f\n", b.rounds)
}
