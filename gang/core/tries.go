package core

import (
	"fmt"
	"time"

	"muster.dev/muster/cluster"
)

// tries are the plans of a group in a row whose time was up.
//
// Such a gang had places, and the scheduler was told of them, but it does not bind the members:
// for a volume that cannot be bound, say, which muster knows nothing of. Its places stand idle
// for as long as it tries. So it rests in between, twice as long each time, until the share of
// the time that it tries is small.
//
// A node that joins ends the rest: the members may be bound there. It has to be as long as the try
// all the same, or a gang would hold its places nearly always where nodes come often. That room
// becomes free ends nothing: there was room, and in a cluster at work it becomes free all the time.
type tries struct {
	asked  bool // the scheduler was told of a place since the present plan was made
	inVain int
	rest   time.Duration // after the last one
	next   time.Time
	sooner time.Time          // the next one, if a node has joined
	nodes  *cluster.NodeNames // those that had joined when it was last looked
}

const (
	// mostRest is the longest rest, unless the tries themselves take long. What is in the way of
	// a gang may be mended at any time, and muster is not told: people wait so long for nothing.
	mostRest = 10 * time.Minute
	// restShare is how many times as long as a try the longest rest is at least: a gang that
	// may take long holds places for a quarter of the time at most.
	restShare = 3
)

// again notes that the time of a plan is up, and says so in words.
func (t *tries) again(took time.Duration, now time.Time, first time.Duration, nodes *cluster.NodeNames) string {
	t.inVain++
	t.rest = min(max(2*t.rest, first), max(mostRest, restShare*took))
	t.next, t.sooner, t.nodes = now.Add(t.rest), now.Add(min(took, t.rest)), nodes
	if t.inVain == 1 {
		return ""
	}
	return fmt.Sprintf("; tried %d times, next try at %s", t.inVain, t.next.UTC().Format(time.RFC3339))
}

// rests looks whether a group is not to be planned: a change of its members, or of what is asked of
// it, ends that.
func (t try) rests(g *group) bool {
	if !t.now.Before(g.tries.next) {
		return false
	}
	if nodes := t.view.NodeNames(); nodes != g.tries.nodes {
		if nodes.Joined(g.tries.nodes) {
			g.tries.next = g.tries.sooner
		}
		g.tries.nodes = nodes
	}
	return t.now.Before(g.tries.next)
}

// timedOut has the groups rest that were denied since their time was up, if the scheduler was told
// of a place: one that asks about nobody, as it is down, has refused nobody.
func (t *turn) timedOut(denied []part) (words string) {
	asked, took := false, time.Duration(0)
	for _, d := range denied {
		asked = asked || d.tries.asked
		if !d.planned.IsZero() {
			took = max(took, t.now.Sub(d.planned))
		}
	}
	if !asked {
		return ""
	}
	nodes := t.view.NodeNames()
	for i, d := range denied {
		if said := d.tries.again(took, t.now, t.limits.DenyTTL, nodes); i == 0 {
			words = said
		}
	}
	return words
}
