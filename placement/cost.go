package placement

import (
	"cmp"
	"math"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

// evictee is a pod that may be evicted.
type evictee struct {
	Eviction
	pod   *cluster.Pod
	node  int32 // its index
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
			all = append(all, &evictee{Eviction: eviction, pod: pod, node: node.Index})
		}
	}
	slices.SortStableFunc(all, byImportance)
	return all
}

// byImportance orders evictees as [ByImportance] does. Of pods of one priority it puts the one with the greatest loss first.
func byImportance(a, b *evictee) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b.pod.Pod), corev1helpers.PodPriority(a.pod.Pod)),
		cmp.Compare(b.Loss, a.Loss),
		ByImportance(a.pod, b.pod),
	)
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
	loss float64 // work: it counts before the times of starts
}

func costOf(victims []*evictee) cost {
	c, evicted, members := cost{}, map[*Limit]int{}, map[*Limit]float64{}
	for _, v := range victims {
		if v.Leaving {
			continue
		}
		c.Add(v.pod)
		violated, loss := false, v.Loss
		for _, limit := range v.Limits {
			evicted[limit]++
			over := limit.used + evicted[limit] - limit.Allowed
			switch {
			case limit.Whole == 0:
				violated = violated || over > 0
			case over == 1: // the work of all of them, which some victims were counted for already
				c.lost += limit.Whole
				loss = limit.Loss - members[limit]
			case over > 1:
				loss = 0
			default:
				members[limit] += v.Loss
			}
		}
		if c.loss += loss; violated {
			c.Violations++
		}
	}
	return c
}

func (c *cost) compare(other *cost) int {
	return cmp.Or(
		cmp.Compare(c.lost, other.lost), c.compareVictims(&other.Cost), cmp.Compare(c.loss, other.loss), c.compareStarts(&other.Cost),
	)
}

// Budgets are the PodDisruptionBudgets of a snapshot.
type Budgets struct{ byNamespace map[string][]budget }

type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
}

// NewBudgets reads the budgets of a snapshot. A budget that selects nothing, or makes no sense, is left out.
func NewBudgets(snap *cluster.Snapshot) *Budgets {
	b := &Budgets{byNamespace: map[string][]budget{}}
	for _, object := range snap.DisruptionBudgets.All() {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err == nil && !selector.Empty() {
			b.byNamespace[object.Namespace] = append(b.byNamespace[object.Namespace], budget{object, selector})
		}
	}
	return b
}

// Of returns the budgets against which an eviction of the pod would be counted. One that is
// under way already is not (filterPodsWithPDBViolation in
// pkg/scheduler/framework/plugins/defaultpreemption).
func (b *Budgets) Of(pod *cluster.Pod) (budgets []*policyv1.PodDisruptionBudget) {
	if len(pod.Labels) == 0 {
		return nil
	}
	for _, budget := range b.byNamespace[pod.Namespace] {
		if _, underWay := budget.Status.DisruptedPods[pod.Name]; !underWay && budget.selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, budget.PodDisruptionBudget)
		}
	}
	return budgets
}

// ByImportance orders pods as kube-scheduler does when it has to evict some: by priority,
// and of equals the one that has run the longest first (MoreImportantPod in
// pkg/scheduler/util).
func ByImportance(a, b *cluster.Pod) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b.Pod), corev1helpers.PodPriority(a.Pod)),
		startOf(a).Compare(startOf(b).Time),
	)
}

// startOf returns the time since when a pod runs, the end of time for one that does not yet.
func startOf(pod *cluster.Pod) metav1.Time {
	if pod.Status.StartTime == nil {
		return metav1.Unix(1<<40, 0)
	}
	return *pod.Status.StartTime
}

// Cost is the cost of evicting pods from a node. kube-scheduler takes a node of the least (pickOneNodeForPreemption in
// pkg/scheduler/framework/preemption). The zero Cost has no victims, and is the least.
type Cost struct {
	Violations int64 // of disruption budgets

	highest  int64 // priority of a victim, from 1 for the lowest one there can be; 0 without victims
	sum      int64 // of priorities, from 0 for the lowest one, so that more pods cost more
	victims  int
	earliest metav1.Time // start of a victim of the highest priority
}

// Add adds a victim.
func (c *Cost) Add(pod *cluster.Pod) { c.add(int64(corev1helpers.PodPriority(pod.Pod)), startOf(pod)) }

// AddUnknown adds a victim that nobody knows: it is dear.
func (c *Cost) AddUnknown() { c.add(math.MaxInt32, metav1.Time{}) }

func (c *Cost) add(priority int64, started metav1.Time) {
	priority -= math.MinInt32
	if priority+1 > c.highest || priority+1 == c.highest && started.Before(&c.earliest) {
		c.highest, c.earliest = priority+1, started
	}
	c.sum += priority
	c.victims++
}

// Compare is below zero if c is the lesser cost.
func (c *Cost) Compare(other *Cost) int {
	return cmp.Or(c.compareVictims(other), c.compareStarts(other))
}

func (c *Cost) compareVictims(other *Cost) int {
	return cmp.Or(
		cmp.Compare(c.Violations, other.Violations),
		cmp.Compare(c.highest, other.highest),
		cmp.Compare(c.sum, other.sum),
		cmp.Compare(c.victims, other.victims),
	)
}

func (c *Cost) compareStarts(other *Cost) int { return other.earliest.Compare(c.earliest.Time) }
