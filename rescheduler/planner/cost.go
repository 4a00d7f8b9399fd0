package planner

import (
	"math/bits"
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

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
