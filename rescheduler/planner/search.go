package planner

import "muster.dev/muster/placement/scenario"

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
