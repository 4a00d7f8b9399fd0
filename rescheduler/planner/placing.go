package planner

import (
	"cmp"
	"math"
	"slices"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

// MakeRoom plans places for pending groups, and the moves that they need. It places all the pods it can, the
// highest priority first, at the least cost. Pods that have room anyway get their places without a step.
func (p *Problem) MakeRoom(groups []Group) *Plan {
	s := newSearch(p, groups)
	placing := newPlacing(s)
	for tried := 1; ; tried++ {
		proven := s.solve(func() {
			placing.construct()
			placing.improve()
		}, s.queue.giveUp)
		if !s.queue.elsewhere() || tried == attempts || s.watch.past() {
			return s.author.plan(proven, nil)
		}
		s.back(0)
	}
}

// placing finds places for all groups: one after the other at first, and then by taking parts of the result
// back and building them again.
type placing struct {
	*state

	roster    *roster
	queue     *queue
	insertion *insertion
	savings   *savings
	audit     *audit
	dice      *dice
	watch     *stopwatch
	limits    Limits
}

func newPlacing(s *search) *placing {
	return &placing{
		state: s.state, roster: s.roster, queue: s.queue, insertion: s.insertion, savings: s.savings, audit: s.audit, dice: s.dice,
		watch: s.watch, limits: s.limits,
	}
}

// construct finds places for the groups one after the other, the most important ones and
// the small ones first.
func (p *placing) construct() {
	order := make([]int, len(p.queue.groups))
	for i := range order {
		order[i] = i
	}
	size := func(at int) float64 {
		total := 0.0
		for _, item := range p.queue.groups[at].items {
			total += p.items[item].size
		}
		return total
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.queue.groups[a].rank, p.queue.groups[b].rank), cmp.Compare(size(a), size(b)))
	})
	for _, at := range order {
		before := len(p.log)
		if p.placeGroup(&p.queue.groups[at]); len(p.log) == before {
			continue
		}
		p.savings.letStay()
		if _, ok := p.audit.sound(); !ok {
			p.back(before)
		}
	}
}

// placeGroup finds places for all members of a group that have none, or for none of them.
func (p *placing) placeGroup(g *group) {
	switch {
	case g.givenUp:
	case g.near != nil && g.AtLeast <= len(g.items):
		p.placeNear(g)
	default:
		p.placeMembers(g)
	}
}

// placeMembers is placeGroup for a group that may be wherever its pods may.
func (p *placing) placeMembers(g *group) {
	before := len(p.log)
	for _, at := range g.items {
		if p.items[at].at >= 0 {
			continue
		}
		for depth := 1; depth <= p.limits.Hops && !p.insertion.insert(at, depth, p.items[at].limit); depth++ {
			if p.watch.past() {
				break
			}
		}
	}
	if p.queue.count(g) < g.AtLeast {
		p.back(before)
	}
}

// improve takes parts of the result back and builds them again, as long as that pays.
func (p *placing) improve() {
	best, at := p.queue.score(), p.positions()
	present := best
	defer func() { p.dice.noise = 0 }()
	p.dice.noise = 0.1
	pool := p.pool()
	for idle := 0; idle < p.limits.Patience && !p.done(best) && len(pool) > 0 && !p.watch.past(); idle++ {
		before := len(p.log)
		p.recreate(p.ruin(pool))
		next := p.queue.score()
		warmth := float64(p.limits.Patience-idle) / float64(p.limits.Patience) * plainCost
		if d := next.compare(present); d < 0 && (slices.Compare(next.placed, present.placed) < 0 ||
			float64(next.cost-present.cost) > -warmth*math.Log(1-p.dice.Float64())) {
			p.back(before)
			continue
		}
		present = next
		if next.compare(best) <= 0 {
			continue
		}
		if _, ok := p.audit.sound(); ok {
			best, at, idle = next, p.positions(), 0
		}
	}
	p.restore(at)
}

// done reports whether nothing can be better.
func (p *placing) done(best score) bool {
	placed := 0
	for _, n := range best.placed {
		placed += n
	}
	return placed == p.queue.wanted() && len(p.gone) <= 1
}

// pool returns the nodes on which to look for something better.
func (p *placing) pool() []int32 {
	const small = 128
	if len(p.nodes) <= small {
		return p.nodes
	}
	var pool []int32
	for i := range p.queue.groups {
		if p.queue.count(&p.queue.groups[i]) == len(p.queue.groups[i].items) || len(pool) > small {
			continue
		}
		if parts := p.byDeficit(&p.items[p.queue.groups[i].items[0]]); len(parts) > 0 {
			pool = append(pool, parts[0][:min(len(parts[0]), 16)]...)
		}
	}
	for _, at := range p.gone {
		pool = append(pool, p.items[at].origin)
	}
	slices.Sort(pool)
	return slices.Compact(pool)
}

// ruin takes back what was planned about a few nodes, and returns the evicted pods that have
// lost their place, some of them twice.
func (p *placing) ruin(pool []int32) []int32 {
	var ejected []int32
	for range 1 + p.dice.IntN(3) {
		node := pool[p.dice.IntN(len(pool))]
		for _, at := range slices.Clone(p.on[node]) {
			switch i := &p.items[at]; {
			case i.at != node: // gone with its group
			case i.pending():
				p.queue.withdraw(&p.queue.groups[i.group])
			case i.away():
				ejected = append(ejected, at)
			}
		}
		for _, at := range p.gone {
			if p.items[at].origin == node {
				ejected = append(ejected, at)
			}
		}
	}
	for _, at := range ejected {
		if p.items[at].at >= 0 {
			p.move(at, -1)
		}
	}
	return ejected
}

// recreate finds places for all that have none. If a pod that was evicted gets none, the
// score is the worst there is.
func (p *placing) recreate(stray []int32) {
	slices.Sort(stray)
	stray = slices.Compact(stray)
	p.dice.Shuffle(len(stray), func(i, j int) { stray[i], stray[j] = stray[j], stray[i] })
	for _, at := range stray {
		i := &p.items[at]
		if i.at < 0 && !p.insertion.insert(at, p.limits.Hops-1, i.limit) {
			for g := range p.queue.groups {
				p.queue.withdraw(&p.queue.groups[g])
			}
			return
		}
	}
	for _, at := range p.dice.Perm(len(p.queue.groups)) {
		if g := &p.queue.groups[at]; p.queue.count(g) < len(g.items) {
			p.placeGroup(g)
		}
	}
	p.savings.letStay()
}

// queue is the groups of pending pods, and which of them have places.
type queue struct {
	*state

	groups []group
	ranks  int // how many priorities there are among the groups
}

// group is a Group in the search.
type group struct {
	*Group
	items   []int32
	near    *vicinity // nil for anywhere
	rank    int       // by priority: 0 for the highest
	givenUp bool      // nothing that was planned for it could be proven
}

// newQueue makes items of pending pods.
func newQueue(s *state, k *kinds, groups []Group) *queue {
	q := &queue{state: s}
	priorities := []int32{}
	for i := range groups {
		priorities = append(priorities, groups[i].priority())
	}
	slices.SortFunc(priorities, func(a, b int32) int { return cmp.Compare(b, a) })
	priorities = slices.Compact(priorities)
	for at := range groups {
		g := group{Group: &groups[at], rank: slices.Index(priorities, groups[at].priority())}
		for _, pod := range g.Pods {
			g.items = append(g.items, q.enter(k, pod, int32(at)))
		}
		if g.Near != nil {
			g.near = newVicinity(s, g.Near, g.items)
			for _, item := range g.items {
				q.items[item].near = g.near
			}
		}
		q.groups = append(q.groups, g)
	}
	q.ranks = len(priorities)
	return q
}

// score is how good a state is.
type score struct {
	placed []int // pending pods by rank
	cost   int64
}

// compare returns more than 0 when a score is the better one.
func (a score) compare(b score) int {
	return cmp.Or(slices.Compare(a.placed, b.placed), cmp.Compare(b.cost, a.cost))
}

// score returns how good the present state is.
func (q *queue) score() score {
	result := score{placed: make([]int, q.ranks), cost: q.cost}
	for i := range q.groups {
		result.placed[q.groups[i].rank] += q.count(&q.groups[i])
	}
	return result
}

// count returns how many pods of a group have a place.
func (q *queue) count(g *group) int {
	placed := 0
	for _, at := range g.items {
		if q.items[at].at >= 0 {
			placed++
		}
	}
	return placed
}

// wanted returns how many pods there are in groups that were not given up.
func (q *queue) wanted() int {
	wanted := 0
	for i := range q.groups {
		if !q.groups[i].givenUp {
			wanted += len(q.groups[i].items)
		}
	}
	return wanted
}

// withdraw takes the places of a group back.
func (q *queue) withdraw(g *group) {
	for _, at := range g.items {
		if q.items[at].at >= 0 {
			q.move(at, -1)
		}
	}
}

// nearLeft returns how many groups have to be near each other and have no place yet.
func (q *queue) nearLeft() (left int) {
	for i := range q.groups {
		if q.groups[i].near != nil && q.count(&q.groups[i]) == 0 {
			left++
		}
	}
	return left
}

// elsewhere reports whether a group was given up in a domain and may be in another one, and forgets that.
func (q *queue) elsewhere() (is bool) {
	for i := range q.groups {
		if near := q.groups[i].near; near != nil {
			is, near.again = is || near.again, false
		}
	}
	return is
}

// giveUp withdraws, for good, the groups that items of a wake are of; all of them when it is said so. One that has to be in one
// domain gives that domain up, as long as there are others.
func (q *queue) giveUp(all bool, w wake) {
	for at := range q.groups {
		g := &q.groups[at]
		if all || slices.ContainsFunc(g.items, w.pending.Has) {
			g.givenUp = !g.near.drop()
			q.withdraw(g)
		}
	}
}

// enter makes an item of a pending pod.
func (q *queue) enter(k *kinds, pod *cluster.Pod, group int32) int32 {
	needs := q.needs(pod, nil)
	i := item{
		pod: pod, needs: needs, origin: -1, at: -1, kind: -1, unit: -1, group: group,
		limit: corev1helpers.PodPriority(pod.Pod), size: q.rates.size(needs),
	}
	k.kindOf(&i)
	return q.add(i)
}
