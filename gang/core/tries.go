package core

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// tries are the plans of a group in a row that came to nothing.
//
// Such a gang had places, but the scheduler does not bind the members: for a volume that cannot be
// bound or a claim that no device satisfies, which muster knows nothing of. It refuses such a member
// by itself, before it asks muster, or offers none of the nodes where it fits. The places stand idle for as
// long as the gang tries. So it rests in between, twice as long each time, until the share of the
// time that it tries is small.
//
// A node that joins ends the rest: the members may be bound there. The rest has to last as long as the try all
// the same, or a gang would hold its places nearly always where nodes come often. Freed room ends no rest:
// there was room, and in a cluster at work some becomes free all the time. A scheduler that is down asks
// nothing during a try: its first question ends the rest after that.
type tries struct {
	spoke  bool // the scheduler asked about a member or bound one since the present plan was made
	silent bool // it did not during the last one
	inVain int
	rest   time.Duration // after the last one
	next   time.Time
	sooner time.Time          // the next one, if a node has joined
	nodes  *cluster.NodeNames // the nodes that had joined at the last look
	// evicted says that pods were evicted for the present plan, and unbound are the members that the
	// scheduler did not bind then, though it was at work: until it does, nobody is evicted again.
	evicted bool
	unbound sets.Set[types.UID]
}

const (
	// mostRest is the longest rest, unless the tries themselves take long. The obstacle to a gang may be mended
	// at any time, and muster is not told: people wait that long for nothing.
	mostRest = 10 * time.Minute
	// restShare is how many times as long as a try the longest rest is at least: a gang that does not start
	// holds places for a tenth of the time in the long run.
	restShare = 9
)

// again notes that a plan has come to nothing, and says so in words.
func (t *tries) again(took time.Duration, now time.Time, first time.Duration, nodes *cluster.NodeNames) string {
	t.inVain++
	t.rest = min(max(2*t.rest, first), max(mostRest, restShare*took))
	t.next, t.sooner, t.nodes = now.Add(t.rest), now.Add(min(took, t.rest)), nodes
	if t.inVain == 1 {
		return ""
	}
	return fmt.Sprintf("; tried %d times, next try at %s", t.inVain, t.next.UTC().Format(time.RFC3339))
}

// restFrom has a gang rest for several times as long as the search for places took: a division among thousands of nodes takes
// seconds, and nobody else is answered meanwhile.
func (t *tries) restFrom(now time.Time, took time.Duration) {
	if next := now.Add(restShare * took); next.After(t.next) {
		t.next = next
	}
}

// anew is the part of tries that stays valid when other members or another spec may change their outcome.
func (t *tries) anew() tries { return tries{spoke: t.spoke, evicted: t.evicted} }

// rests looks whether a group is not to be planned: a change of its members, or of what is asked of
// it, ends that.
func (t *attempt) rests(g *group) bool {
	if t.purpose == forFilter && g.tries.silent {
		g.tries = g.tries.anew()
	}
	if nodes := t.view.NodeNames(); g.tries.inVain > 0 && nodes != g.tries.nodes {
		if nodes.Joined(g.tries.nodes) {
			g.tries.unbound = nil
			if g.tries.sooner.Before(g.tries.next) {
				g.tries.next = g.tries.sooner
			}
		}
		g.tries.nodes = nodes
	}
	return t.now.Before(g.tries.next)
}

// vain reports whether a denial means that a plan has come to nothing: there were places.
func vain(err error) bool {
	for _, of := range []error{ErrTimeout, ErrScheduler, ErrVictims, ErrUnrecorded} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// inVain has the groups rest whose plan has come to nothing.
func (t *turn) inVain(denied []part) (words string) {
	spoke, took := false, time.Duration(0)
	for _, d := range denied {
		spoke = spoke || d.tries.spoke
		if !d.planned.IsZero() {
			took = max(took, t.now.Sub(d.planned))
		}
	}
	nodes := t.view.NodeNames()
	for i, d := range denied {
		if d.tries.silent = !spoke; d.tries.evicted && spoke {
			d.tries.unbound = sets.New[types.UID]()
			for _, p := range d.in(pending, placed) {
				d.tries.unbound.Insert(p.pod.UID)
			}
		}
		if d.counts.came() > 0 {
			for _, p := range d.in(placed) {
				p.behind = true
			}
		}
		d.tries.spoke, d.tries.evicted = false, false
		if said := d.tries.again(took, t.now, t.limits.DenyTTL, nodes); i == 0 {
			words = said
		}
	}
	return words
}

// evictsInVain reports whether the scheduler did not bind some members when pods were last evicted, or when they were let
// go, and has not since. To evict others for these is of no use.
func (p part) evictsInVain() bool { return p.tries.unbound.Len() > 0 || p.left() != nil }

// refused returns a member that has a place, and that the scheduler calls unschedulable or fails to bind: for what
// the pod's condition says. It is nil when there is none.
func (g *group) refused() *member {
	for _, p := range g.in(placed) {
		if p.pod.Tried() {
			return p
		}
	}
	return nil
}
