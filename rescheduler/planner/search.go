package planner

import (
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/placement/scenario"
)

// attempts is how often a search begins because predicates objected.
const attempts = 8

// search is one attempt to solve a problem: its parts share one state, and each knows the parts that were made
// before it.
type search struct {
	*state

	watch      *stopwatch
	roster     *roster
	standings  *standings
	rehearsal  *rehearsal
	queue      *queue
	purposes   *purposes
	audit      *audit
	savings    *savings
	placing    *placing
	clearing   *clearing
	freeing    *freeing
	departures *departures
	relief     *relief
	author     *author
}

func newSearch(p *Problem, groups []Group, wishes []Wish) *search {
	limits := p.Limits.withDefaults()
	hops := limits.Hops
	watch, dice := newStopwatch(p.Clock, limits.Time), newDice(p.Seed)
	kinds, s := newKinds(p), newState(p)
	world := scenario.New(p.Snapshot)
	for _, held := range p.Reserved {
		world.Put(held.Pod, held.Node)
	}
	roster := newRoster(p, s, kinds, watch.began)
	standings := &standings{state: s, world: world, kinds: kinds, blockers: map[opening][]int32{}, afterwards: map[place]standing{}}
	rehearsal := &rehearsal{state: s, world: world, kinds: kinds, bars: p.Bars}
	homes := &homes{state: s, roster: roster, standings: standings, rehearsal: rehearsal, dice: dice, hops: hops}
	evictions := &evictions{state: s, roster: roster, homes: homes, standings: standings, dice: dice}
	insertion := &insertion{state: s, roster: roster, homes: homes, evictions: evictions, dice: dice, watch: watch, hops: hops}
	queue := newQueue(s, kinds, groups)
	purposes := &purposes{state: s, roster: roster, queue: queue}
	audit := &audit{state: s, queue: queue, purposes: purposes, rules: &p.Rules, hops: hops}
	savings := &savings{state: s, homes: homes, purposes: purposes}
	departures := &departures{
		state: s, roster: roster, rehearsal: rehearsal, insertion: insertion, savings: savings, audit: audit, watch: watch,
		wishes: wishesOf(roster, wishes),
	}
	clearing := &clearing{
		state: s, roster: roster, insertion: insertion, audit: audit, dice: dice, watch: watch,
		forsaken: make([]bool, p.Snapshot.IndexEnd()), kept: map[int32]Refusal{},
	}
	refusals := &refusals{state: s, roster: roster, standings: standings, rehearsal: rehearsal, watch: watch}
	return &search{
		state: s, watch: watch, roster: roster, standings: standings, rehearsal: rehearsal, queue: queue, purposes: purposes,
		audit: audit, savings: savings, departures: departures,
		placing: &placing{
			state: s, queue: queue, insertion: insertion, savings: savings, audit: audit, dice: dice, watch: watch, limits: limits,
		},
		clearing: clearing,
		freeing: &freeing{
			state: s, roster: roster, clearing: clearing, savings: savings, audit: audit, dice: dice, watch: watch,
			shut: make([]bool, p.Snapshot.IndexEnd()),
		},
		relief: &relief{
			state: s, roster: roster, homes: homes, evictions: evictions, departures: departures, rehearsal: rehearsal, standings: standings,
		},
		author: &author{
			state: s, snap: p.Snapshot, roster: roster, queue: queue, departures: departures, purposes: purposes, refusals: refusals,
			watch: watch,
		},
	}
}

// solve searches until the predicates agree, and leaves the state as it is planned.
func (s *search) solve(find func()) (proven []int32) {
	for attempt := 1; ; attempt++ {
		find()
		for {
			order, ok := s.audit.sound()
			if !ok {
				s.giveUp(nil)
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
			s.giveUp(objected)
		}
		s.back(0)
	}
}

// giveUp gives up the groups, the wishes and the nodes that items move for; all of them when there are none.
func (s *search) giveUp(objected []int32) {
	w, all := s.purposes.wakeOf(objected...), len(objected) == 0
	s.queue.giveUp(all, w.pending)
	s.departures.giveUp(all, w.leaving)
	s.clearing.giveUp(all, w.nodes)
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
