package gangfaults

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// startSlack is how old what muster knows may be: for so long a member counts after it has
// been lost, and a minMember after it was raised, or before it is lowered.
const startSlack = 2 * time.Second

// judgeStarts holds every time until the end of the run that muster had a member bound against
// how many members were held then, or let go before: as many as must start together. A pod that
// is gone by then cannot be bound any more, and starts nothing. One that was let go rightly before
// may be again, whatever is asked for by then, as long as members are bound: its binding had no
// answer, and a start that has begun is completed. The same holds of each group that starts together with
// it. What muster knows may be older than startSlack by as much as it is kept from knowing.
func judgeStarts(history []entry, calls []call, end time.Time, behind time.Duration) (findings []finding) {
	told, gone, begun := newChronicle(history, startSlack+behind), departures(history), sets.New[string]()
	calls = slices.SortedFunc(slices.Values(calls), func(a, b call) int { return a.let.Compare(b.let) })
	for _, c := range calls {
		if c.let.IsZero() || c.let.After(end) {
			continue
		}
		if begun.Has(c.pod) && told.assigned(c.gang, c.let).Len() > 0 {
			continue
		}
		if at, is := gone[c.pod]; is && at.Before(c.let) {
			continue
		}
		before := len(findings)
		for _, gang := range told.together(c.gang, c.let) {
			least, assigned := told.least(gang, c.let), told.assigned(gang, c.let)
			if gang != c.gang && assigned.Intersection(begun).Len() > 0 {
				continue // it has begun as well
			}
			ready := assigned.Union(told.held(calls, gang, c.let))
			if least != math.MaxInt && ready.Len() < least { // else nobody could know
				findings = append(
					findings,
					finding{
						startedBelow,
						fmt.Sprintf("pod %s is let go when %d members of %s are held or bound, of %d that must start together", c.pod, ready.Len(), gang,
							least),
					},
				)
			}
		}
		if len(findings) == before {
			begun.Insert(c.pod)
		}
	}
	return findings
}

// chronicle is what gangs were at what time, by name.
type chronicle struct {
	slack time.Duration // that may have passed until muster knows
	of    map[string][]chapter
}

// chapter is what a gang is from a time on.
type chapter struct {
	from time.Time
	// least is how many must start together, 0 when nothing says it, and 1 when they may start one by one.
	least    int
	with     []string // that start together with it
	assigned []string // pods that are bound, or have succeeded in the present life of the PodGroup
}

func newChronicle(history []entry, slack time.Duration) chronicle {
	c, s := chronicle{slack, map[string][]chapter{}}, newState()
	for _, e := range history {
		for _, key := range s.apply(e) {
			g := s.standing(key)
			now := chapter{from: e.at, least: g.minMember, with: g.with}
			if g.satisfied() {
				now.least = min(now.least, 1)
			}
			for _, pod := range s.pods {
				if keyOf(pod) == key && pod.Spec.NodeName != "" && !s.isFormer(pod, s.groups[key]) {
					now.assigned = append(now.assigned, pod.Name)
				}
			}
			c.of[key.name] = append(c.of[key.name], now)
		}
	}
	return c
}

// together are a gang and those that start together with it, as it said last before a time.
func (c chronicle) together(gang string, at time.Time) []string {
	together := []string{gang}
	for chapter := range c.between(gang, at, at) {
		together = append([]string{gang}, slices.DeleteFunc(slices.Clone(chapter.with), func(name string) bool { return name == gang })...)
	}
	return together
}

// held are the members of a gang whose bind calls waited at a time, or not long before.
func (c chronicle) held(calls []call, gang string, at time.Time) sets.Set[string] {
	held := sets.New[string]()
	for _, other := range calls {
		if other.gang == gang && !other.arrived.After(at) && (other.ended.IsZero() || other.ended.After(at.Add(-c.slack))) {
			held.Insert(other.pod)
		}
	}
	return held
}

// departures are when pods were gone, by name.
func departures(history []entry) map[string]time.Time {
	gone := map[string]time.Time{}
	for _, e := range history {
		if e.pod != nil && e.gone {
			gone[e.pod.Name] = e.at
		}
	}
	return gone
}

// least is the lowest minMember of a gang about a time.
func (c chronicle) least(gang string, at time.Time) int {
	least := math.MaxInt
	for chapter := range c.between(gang, at.Add(-c.slack), at.Add(startSlack)) {
		if chapter.least > 0 {
			least = min(least, chapter.least)
		}
	}
	return least
}

// assigned are the members of a gang that were bound before a time, and not lost long before.
func (c chronicle) assigned(gang string, at time.Time) sets.Set[string] {
	pods := sets.New[string]()
	for chapter := range c.between(gang, at.Add(-c.slack), at) {
		pods.Insert(chapter.assigned...)
	}
	return pods
}

// between are the chapters of a gang that have to do with a span of time.
func (c chronicle) between(gang string, from, to time.Time) func(yield func(chapter) bool) {
	return func(yield func(chapter) bool) {
		chapters := c.of[gang]
		first, _ := slices.BinarySearchFunc(chapters, from, func(c chapter, t time.Time) int { return c.from.Compare(t) })
		for _, chapter := range chapters[max(0, first-1):] {
			if chapter.from.After(to) || !yield(chapter) {
				return
			}
		}
	}
}
