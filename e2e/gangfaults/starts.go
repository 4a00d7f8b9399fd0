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
// answer, and a start that has begun is completed.
func judgeStarts(history []entry, calls []call, end time.Time) (findings []finding) {
	told, gone, begun := newChronicle(history), departures(history), sets.New[string]()
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
		least := told.least(c.gang, c.let)
		if least == math.MaxInt {
			continue // nobody could know
		}
		ready := told.assigned(c.gang, c.let)
		for _, other := range calls {
			if other.gang == c.gang && !other.arrived.After(c.let) && (other.ended.IsZero() || other.ended.After(c.let.Add(-startSlack))) {
				ready.Insert(other.pod)
			}
		}
		if ready.Len() < least {
			findings = append(
				findings,
				finding{
					startedBelow,
					fmt.Sprintf("pod %s is let go when %d members are held or bound, of %d that must start together", c.pod, ready.Len(), least),
				},
			)
			continue
		}
		begun.Insert(c.pod)
	}
	return findings
}

// chronicle is what gangs were at what time, by name.
type chronicle map[string][]chapter

// chapter is what a gang is from a time on.
type chapter struct {
	from      time.Time
	minMember int
	assigned  []string // pods that are bound or have succeeded
}

func newChronicle(history []entry) chronicle {
	c, s := chronicle{}, newState()
	for _, e := range history {
		for _, key := range s.apply(e) {
			now := chapter{from: e.at, minMember: s.standing(key).minMember}
			for _, pod := range s.pods {
				if keyOf(pod) == key && pod.Spec.NodeName != "" {
					now.assigned = append(now.assigned, pod.Name)
				}
			}
			c[key.name] = append(c[key.name], now)
		}
	}
	return c
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
	for chapter := range c.between(gang, at.Add(-startSlack), at.Add(startSlack)) {
		if chapter.minMember > 0 {
			least = min(least, chapter.minMember)
		}
	}
	return least
}

// assigned are the members of a gang that were bound before a time, and not lost long before.
func (c chronicle) assigned(gang string, at time.Time) sets.Set[string] {
	pods := sets.New[string]()
	for chapter := range c.between(gang, at.Add(-startSlack), at) {
		pods.Insert(chapter.assigned...)
	}
	return pods
}

// between are the chapters of a gang that have to do with a span of time.
func (c chronicle) between(gang string, from, to time.Time) func(yield func(chapter) bool) {
	return func(yield func(chapter) bool) {
		chapters := c[gang]
		first, _ := slices.BinarySearchFunc(chapters, from, func(c chapter, t time.Time) int { return c.from.Compare(t) })
		for _, chapter := range chapters[max(0, first-1):] {
			if chapter.from.After(to) || !yield(chapter) {
				return
			}
		}
	}
}
