package placement

import (
	"cmp"
	"slices"

	policyv1 "k8s.io/api/policy/v1"

	"muster.dev/muster/cluster"
)

// evictee is a pod that may be evicted.
type evictee struct {
	Eviction
	pod   *cluster.Pod
	gone  bool
	class class // as dearestFirst last found
}

// class is the consequence of evicting a pod, the worst first.
type class int

const (
	breaks   class = iota // what others need is taken away
	violates              // more than its disruption budgets allow
	costs
	leaves // nothing, as the pod goes anyway
)

// count adds a number of evictions to the limits of a pod. It returns the limits that they have just broken.
func (v *evictee) count(evictions int) (broken []*Limit) {
	if v.Leaving {
		return nil
	}
	for _, limit := range v.Limits {
		limit.used += evictions
		if limit.Whole > 0 && limit.used == limit.Allowed+1 {
			broken = append(broken, limit)
		}
	}
	return broken
}

// on returns the pods of a node that may be evicted, the most important first.
func (e *Evictions) on(index int32) []*evictee {
	if all, known := e.evictees[index]; known {
		return all
	}
	all := e.terms.evictees(e.plan.Node(index))
	for _, v := range all {
		for _, limit := range v.Limits {
			limit.nodes = append(limit.nodes, index)
		}
	}
	e.evictees[index] = all
	return all
}

// terms say which pods may be evicted, and what their budgets allow.
type terms struct {
	may     func(*cluster.Pod) (Eviction, bool)
	budgets *Budgets
	limits  map[*policyv1.PodDisruptionBudget]*Limit
}

func newTerms(snap *cluster.Snapshot, may func(*cluster.Pod) (Eviction, bool)) terms {
	return terms{may, NewBudgets(snap), map[*policyv1.PodDisruptionBudget]*Limit{}}
}

// evictees returns the pods of a node that may be evicted, the most important first.
func (t *terms) evictees(node *cluster.Node) (all []*evictee) {
	for _, pod := range node.Pods {
		if eviction, may := t.may(pod); may {
			eviction.Limits = slices.Concat(eviction.Limits, t.disruptions(pod))
			all = append(all, &evictee{Eviction: eviction, pod: pod})
		}
	}
	slices.SortStableFunc(all, func(a, b *evictee) int { return ByImportance(a.pod, b.pod) })
	return all
}

// disruptions returns the limits that disruption budgets set to the eviction of a pod.
func (t *terms) disruptions(pod *cluster.Pod) (limits []*Limit) {
	for _, budget := range t.budgets.Of(pod) {
		if t.limits[budget] == nil {
			t.limits[budget] = &Limit{Allowed: int(budget.Status.DisruptionsAllowed)}
		}
		limits = append(limits, t.limits[budget])
	}
	return limits
}

// dearestFirst orders evictees of one node, the most important first, by the cost of evicting them all: pods
// whose eviction takes away what others need come first, then pods whose budgets do not allow it, then all
// others, and at the end pods that leave anyway. Where a limit allows some of them, it allows the least
// important ones.
func dearestFirst(all []*evictee) []*evictee {
	evicted := map[*Limit]int{}
	for _, v := range slices.Backward(all) {
		v.class = costs
		if v.Leaving {
			v.class = leaves
			continue
		}
		for _, limit := range v.Limits {
			evicted[limit]++
			switch {
			case limit.used+evicted[limit] <= limit.Allowed:
			case limit.Whole > 0:
				v.class = breaks
			default:
				v.class = min(v.class, violates)
			}
		}
	}
	ordered := slices.Clone(all)
	slices.SortStableFunc(ordered, func(a, b *evictee) int { return cmp.Compare(a.class, b.class) })
	return ordered
}

// violates counts an eviction, and says whether it exceeds what a disruption budget allows.
func (v *evictee) violates(evicted map[*Limit]int) (violates bool) {
	if v.Leaving {
		return false
	}
	for _, limit := range v.Limits {
		evicted[limit]++
		violates = violates || limit.Whole == 0 && evicted[limit] > limit.Allowed
	}
	return violates
}

// cost is the cost of further evictions, beside the ones already decided.
type cost struct {
	lost int // pods that are of no use any more without others: they count before all else
	Cost
}

func costOf(victims []*evictee) cost {
	c, evicted := cost{}, map[*Limit]int{}
	for _, v := range victims {
		if v.Leaving {
			continue
		}
		c.Add(v.pod)
		violated := false
		for _, limit := range v.Limits {
			evicted[limit]++
			over := limit.used + evicted[limit] - limit.Allowed
			switch {
			case limit.Whole == 0:
				violated = violated || over > 0
			case over == 1:
				c.lost += limit.Whole
			}
		}
		if violated {
			c.Violations++
		}
	}
	return c
}

func (c *cost) compare(other *cost) int {
	return cmp.Or(cmp.Compare(c.lost, other.lost), c.Compare(&other.Cost))
}
