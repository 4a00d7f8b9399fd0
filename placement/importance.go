package placement

import (
	"cmp"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

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
	return cmp.Or(
		cmp.Compare(c.Violations, other.Violations),
		cmp.Compare(c.highest, other.highest),
		cmp.Compare(c.sum, other.sum),
		cmp.Compare(c.victims, other.victims),
		other.earliest.Compare(c.earliest.Time),
	)
}
