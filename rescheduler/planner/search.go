package planner

import (
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/placement/scenario"
)

// attempts is how often a search begins because predicates objected.
const attempts = 8

// search has what every attempt to solve a problem needs. Its parts share one state, and each is made of the parts before
// it. What is searched for is one more part, which MakeRoom, Coalesce, FreeDomains, Relocate or Relieve makes of the search.
type search struct {
	*state

	limits    Limits
	watch     *stopwatch
	dice      *dice
	roster    *roster
	standings *standings
	rehearsal *rehearsal
	homes     *homes
	evictions *evictions
	insertion *insertion
	queue     *queue
	purposes  *purposes
	audit     *audit
	savings   *savings
	author    *author
}

func newSearch(p *Problem, groups []Group) *search {
	limits := p.Limits.withDefaults()
	hops := limits.Hops
	watch, dice := newStopwatch(p.Clock, limits.Time), newDice(p.Seed)
	kinds, s, world := newKinds(p), newState(p), worldOf(p)
	roster := newRoster(p, s, kinds, watch.began)
	standings := newStandings(s, world, kinds)
	rehearsal := &rehearsal{state: s, world: world, kinds: kinds, bars: p.bars()}
	homes := &homes{state: s, roster: roster, standings: standings, rehearsal: rehearsal, dice: dice, hops: hops}
	evictions := &evictions{state: s, roster: roster, homes: homes, standings: standings, dice: dice}
	insertion := &insertion{state: s, roster: roster, homes: homes, evictions: evictions, dice: dice, watch: watch, hops: hops}
	queue := newQueue(s, kinds, groups)
	purposes := &purposes{state: s, roster: roster, queue: queue}
	audit := &audit{state: s, queue: queue, purposes: purposes, rules: &p.Rules, hops: hops}
	savings := &savings{state: s, homes: homes, purposes: purposes}
	refusals := &refusals{state: s, roster: roster, standings: standings, rehearsal: rehearsal, watch: watch}
	author := &author{state: s, snap: p.Snapshot, roster: roster, queue: queue, purposes: purposes, refusals: refusals, watch: watch}
	return &search{
		state: s, limits: limits, watch: watch, dice: dice, roster: roster, standings: standings, rehearsal: rehearsal, homes: homes,
		evictions: evictions, insertion: insertion, queue: queue, purposes: purposes, audit: audit, savings: savings, author: author,
	}
}

// worldOf returns the model of the cluster of a problem before anything moves: places that are kept are taken.
func worldOf(p *Problem) *scenario.Scenario {
	world := scenario.New(p.Snapshot)
	for _, held := range p.Reserved {
		world.Put(held.Pod, held.Node)
	}
	return world
}

// solve searches until the predicates agree, and leaves the state as it is planned. find changes the state; giveUp gives up
// for good what cannot be proven: what a wake names, or all.
func (s *search) solve(find func(), giveUp func(all bool, w wake)) (proven []int32) {
	for attempt := 1; ; attempt++ {
		find()
		for {
			order, ok := s.audit.sound()
			if !ok {
				s.concede(giveUp, nil)
				continue
			}
			var objected []int32
			if proven, objected = s.rehearsal.prove(order); objected == nil {
				return proven
			}
			for _, at := range objected {
				s.standings.forbid(&s.items[at], s.items[at].at)
			}
			if attempt < attempts && !s.watch.past() {
				break
			}
			s.concede(giveUp, objected)
		}
		s.back(0)
	}
}

// concede gives up what items move for; all when there are none.
func (s *search) concede(giveUp func(all bool, w wake), objected []int32) {
	all := len(objected) == 0
	giveUp(all, s.purposes.wakeOf(objected...))
	s.savings.letStay()
	if all {
		s.back(0)
	}
}

// dice make a search try what does not look best. They are seeded, so that the same problem has the same
// plan, and still until there is noise.
type dice struct {
	*rand.Rand
	noise float64 // how often the best choice is passed over, 0 to 1
}

func newDice(seed uint64) *dice { return &dice{Rand: rand.New(rand.NewPCG(seed, 0))} }

// pass reports whether to pass over a choice.
func (d *dice) pass() bool { return d.noise > 0 && d.Float64() < d.noise }

// extra returns by how much to overrate a cost.
func (d *dice) extra() int64 {
	if d.noise > 0 {
		return d.Int64N(plainCost / 5)
	}
	return 0
}

// stopwatch says how long a search has taken, and whether its time is up.
type stopwatch struct {
	clock clock.PassiveClock
	began time.Time
	end   time.Time
	late  bool // the time was up at the last look
}

func newStopwatch(c clock.PassiveClock, limit time.Duration) *stopwatch {
	now := c.Now()
	return &stopwatch{clock: c, began: now, end: now.Add(limit)}
}

// past reports whether the time to search is up.
func (w *stopwatch) past() bool {
	w.late = w.late || !w.clock.Now().Before(w.end)
	return w.late
}

// share returns when the first of several equal parts of the remaining time ends.
func (w *stopwatch) share(parts int) time.Time {
	now := w.clock.Now()
	return now.Add(w.end.Sub(now) / time.Duration(max(1, parts)))
}

// took returns how long it has been running.
func (w *stopwatch) took() time.Duration { return w.clock.Since(w.began) }
