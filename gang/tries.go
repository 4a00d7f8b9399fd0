package gang

import (
	"fmt"
	"time"
)

// tries are the plans of a group in a row whose time was up.
//
// Such a gang had places, and the scheduler was told of them, but it does not bind the members:
// for a volume that cannot be bound, say, which muster knows nothing of. Its places stand idle
// for as long as it tries. So it rests in between, twice as long each time, until the share of
// the time that it tries is small.
type tries struct {
	asked  bool // the scheduler was told of a place since the present plan was made
	inVain int
	rest   time.Duration // after the last one
	next   time.Time
}

const (
	// mostRest is the longest rest, unless the tries themselves take long.
	mostRest = 5 * time.Minute
	// restShare is how many times as long as a try the longest rest is at least.
	restShare = 10
)

// again notes that the time of a plan is up that was made at a time, and says so in words.
func (t *tries) again(planned, now time.Time, first time.Duration) string {
	most := max(mostRest, restShare*now.Sub(planned))
	t.inVain++
	t.rest = min(max(2*t.rest, first), most)
	t.next = now.Add(t.rest)
	if t.inVain == 1 {
		return ""
	}
	return fmt.Sprintf("; tried %d times, next try at %s", t.inVain, t.next.UTC().Format(time.RFC3339))
}

// rests says that a group is not to be planned: a change of its members, or of what is asked of
// it, ends that.
func (m *Manager) rests(g *group) bool { return m.clock.Now().Before(g.tries.next) }

// timedOut has the groups rest that were denied since their time was up, if the scheduler was told
// of a place: one that asks about nobody, as it is down, has refused nobody.
func (m *Manager) timedOut(denied []part) (words string) {
	asked := false
	for _, d := range denied {
		asked = asked || d.tries.asked
	}
	if !asked {
		return ""
	}
	for i, d := range denied {
		if said := d.tries.again(d.planned, m.clock.Now(), m.limits.DenyTTL); i == 0 {
			words = said
		}
	}
	return words
}
