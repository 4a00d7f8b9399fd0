package placement

import (
	"cmp"

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
