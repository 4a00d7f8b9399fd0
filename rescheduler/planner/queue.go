package planner

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

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
	rank    int  // by priority: 0 for the highest
	givenUp bool // nothing that was planned for it could be proven
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

// giveUp withdraws, for good, the groups that have one of the items; all of them when it is said so.
func (q *queue) giveUp(all bool, items sets.Set[int32]) {
	for at := range q.groups {
		g := &q.groups[at]
		if all || slices.ContainsFunc(g.items, items.Has) {
			g.givenUp = true
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
