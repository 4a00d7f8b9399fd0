package placement

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// MostGrace is the longest that anything waits for a pod to end. No room is counted on that is free only later.
// Users who may create pods write their grace periods: without a bound of ours, one such number would have
// others wait for centuries.
const MostGrace = time.Hour

// overdue is how long a pod that is being deleted may be there after its time: the clock of the API server, which set that
// time, is another one, and a kubelet takes a moment.
const overdue = time.Minute

// Leaves reports whether a pod leaves its node by itself: it is being deleted, and is gone within [MostGrace]. One that should
// have gone long ago may be kept by a finalizer or a lost node, so nobody knows until when.
func Leaves(pod *cluster.Pod, now time.Time) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	left := pod.DeletionTimestamp.Sub(now)
	return left <= MostGrace+overdue && left >= -overdue
}

// LeavesIn returns how long a pod may take to go that is deleted now, or is being deleted: [MostGrace] at most.
func LeavesIn(pod *cluster.Pod, now time.Time) time.Duration {
	if pod.DeletionTimestamp != nil {
		return min(max(pod.DeletionTimestamp.Sub(now), 0), MostGrace)
	}
	return min(Grace(&pod.Spec), MostGrace)
}

// mostSeconds is beyond all that anybody waits for, and no sum of such times wraps.
const mostSeconds = int64(365 * 24 * time.Hour / time.Second)

// Grace returns how long a pod may take to end by its own word: a year stands for anything longer.
func Grace(spec *corev1.PodSpec) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if own := spec.TerminationGracePeriodSeconds; own != nil {
		seconds = *own
	}
	return time.Duration(min(max(seconds, 0), mostSeconds)) * time.Second
}
