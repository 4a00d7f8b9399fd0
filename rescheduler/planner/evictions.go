package planner

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

// evictions works out who would have to leave a node.
type evictions struct {
	*state

	roster    *roster
	homes     *homes
	standings *standings
	dice      *dice
}

// openings returns the cheapest sets of victims on a node for an item, the best first: none when the item would
// not fit whatever left. Of units that may be moved, those leave that finds has a place for.
func (e *evictions) openings(i *item, node int32, limit int32, finds func(unit int32) bool) []victims {
	e.roster.kinds.kindOf(i)
	if e.closed[node] || node == i.origin || !e.homes.admits(i, node) {
		return nil
	}
	e.roster.load(node)
	must, possible := e.standings.obstacles(i, node)
	if !possible {
		return nil
	}
	lacks := make(amounts, e.dims)
	i.needs.short(e.freeAt(node), lacks)
	c := chooser{node: node, lacks: lacks}
	for _, at := range must {
		if o := &e.items[at]; o.at == node {
			if !e.roster.movable(o.unit, limit) || !finds(o.unit) {
				return nil
			}
			c.take(e.candidate(o.unit, node, lacks))
		}
	}
	e.consider(&c, limit, finds)
	return c.choose()
}

// consider makes candidates of the items whose leaving gains anything.
func (e *evictions) consider(c *chooser, limit int32, finds func(unit int32) bool) {
	for _, at := range e.on[c.node] {
		o := &e.items[at]
		if o.pending() || slices.Contains(c.units, o.unit) || c.knows(o.unit) || !e.roster.movable(o.unit, limit) {
			continue
		}
		if candidate := e.candidate(o.unit, c.node, c.lacks); candidate.worth > 0 && finds(o.unit) {
			c.candidates = append(c.candidates, candidate)
		}
	}
}

// candidate makes a candidate of a unit.
func (e *evictions) candidate(at, node int32, lacks amounts) candidate {
	c := candidate{unit: at, gains: make(amounts, e.dims)}
	for _, member := range e.roster.units[at].items {
		i := &e.items[member]
		c.size += i.size
		if !i.away() {
			c.cost += i.cost
		}
		if i.at == node {
			i.needs.gather(c.gains)
		}
	}
	for d, lack := range lacks {
		if c.gains[d] = min(c.gains[d], lack); lack > 0 {
			c.worth += float64(max(0, c.gains[d])) / float64(lack)
		}
	}
	c.cost += e.dice.extra()
	return c
}

// victims are units whose leaving makes room for a pod on a node.
type victims struct {
	node  int32
	units []int32
	cost  int64
	size  float64 // small ones are easier to find a place for
}

// candidate is a unit that may leave a node.
type candidate struct {
	unit  int32
	gains amounts // of what is short
	cost  int64
	size  float64
	worth float64
}

const (
	alternatives = 3   // sets of victims that are tried on one node
	patience     = 400 // how many sets are looked at to find them
)

// chooser finds the cheapest sets of candidates that make up for what is lacking.
type chooser struct {
	node       int32
	lacks      amounts
	candidates []candidate
	units      []int32 // chosen so far
	cost       int64
	size       float64
	looked     int
	best       []victims
	rest       []amounts // what candidates from a place on gain together
}

func (c *chooser) knows(unit int32) bool {
	return slices.ContainsFunc(c.candidates, func(known candidate) bool { return known.unit == unit })
}

func (c *chooser) take(chosen candidate) {
	c.units = append(c.units, chosen.unit)
	c.cost, c.size = c.cost+chosen.cost, c.size+chosen.size
	for d, gain := range chosen.gains {
		c.lacks[d] -= gain
	}
}

func (c *chooser) giveBack(chosen candidate) {
	c.units = c.units[:len(c.units)-1]
	c.cost, c.size = c.cost-chosen.cost, c.size-chosen.size
	for d, gain := range chosen.gains {
		c.lacks[d] += gain
	}
}

func (c *chooser) choose() []victims {
	slices.SortStableFunc(c.candidates, func(a, b candidate) int {
		return cmp.Compare(b.worth/float64(b.cost+1), a.worth/float64(a.cost+1))
	})
	c.rest = make([]amounts, len(c.candidates)+1)
	c.rest[len(c.candidates)] = make(amounts, len(c.lacks))
	for at := len(c.candidates) - 1; at >= 0; at-- {
		c.rest[at] = slices.Clone(c.rest[at+1])
		c.candidates[at].gains.gather(c.rest[at])
	}
	c.from(0)
	return c.best
}

// from looks at all sets that add candidates from a place on.
func (c *chooser) from(at int) {
	if len(c.best) == alternatives && c.cost >= c.best[alternatives-1].cost {
		return
	}
	enough, possible := true, true
	for d, lack := range c.lacks {
		enough = enough && lack <= 0
		possible = possible && lack <= c.rest[at][d]
	}
	if enough {
		c.keep()
		return
	}
	if !possible || c.looked >= patience {
		return
	}
	for ; at < len(c.candidates); at++ {
		next := c.candidates[at]
		c.looked++
		c.take(next)
		c.from(at + 1)
		c.giveBack(next)
		for at+1 < len(c.candidates) && c.same(at, at+1) {
			at++ // to take that one instead would be the same
		}
		for d, lack := range c.lacks {
			if lack > c.rest[at+1][d] {
				return
			}
		}
	}
}

func (c *chooser) same(a, b int) bool {
	x, y := &c.candidates[a], &c.candidates[b]
	return x.cost == y.cost && x.size == y.size && slices.Equal(x.gains, y.gains)
}

// keep enters the present set among the best ones.
func (c *chooser) keep() {
	found := victims{node: c.node, units: slices.Clone(c.units), cost: c.cost, size: c.size}
	at, _ := slices.BinarySearchFunc(c.best, found, func(a, b victims) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.size, b.size))
	})
	c.best = slices.Insert(c.best, at, found)
	c.best = c.best[:min(len(c.best), alternatives)]
}

// The cost of an eviction, in thousandths of a plain one. Surcharges are at most half of that: the first aim is
// to move few pods, and among equal numbers the pods that mind the least.
const (
	plainCost    = 1000
	costPriority = 300 // at most: of the highest priority that users may have
	costAge      = 100 // at most: of a pod that has run for long
	costHeadroom = 100 // of the last eviction that its budgets allow
)

// cost returns the cost of evicting a pod when its budgets have a headroom of that many evictions.
func cost(pod *cluster.Pod, headroom int32, now time.Time) int64 {
	total := int64(plainCost)
	if priority := corev1helpers.PodPriority(pod.Pod); priority > 0 {
		total += int64(costPriority * bits.Len32(uint32(priority)) / 31)
	}
	if pod.Status.StartTime != nil {
		hours := max(0, int64(now.Sub(pod.Status.StartTime.Time)/time.Hour))
		total += costAge * hours / (hours + 24)
	}
	if headroom > 0 {
		total += costHeadroom / int64(headroom)
	}
	return total
}
