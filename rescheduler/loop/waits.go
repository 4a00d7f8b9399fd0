package loop

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// waits says since when pods wait, by this process's clock: since it first saw them wait. The API server's clock told
// when they were created, and is not compared with it. The zero value has seen nobody. It is for one goroutine.
type waits struct {
	since map[types.UID]time.Time
}

// see notes the pods that wait now.
func (w *waits) see(waiting []*cluster.Pod, now time.Time) {
	next := make(map[types.UID]time.Time, len(waiting))
	for _, pod := range waiting {
		if since, known := w.since[pod.UID]; known {
			next[pod.UID] = since
		} else {
			next[pod.UID] = now
		}
	}
	w.since = next
}

// ripens reports whether a pod has come to wait for so long after that time, and by now.
func (w *waits) ripens(after, now time.Time, enough time.Duration) bool {
	for _, since := range w.since {
		if ripe := since.Add(enough); ripe.After(after) && !ripe.After(now) {
			return true
		}
	}
	return false
}

// ripe returns the pods that have waited for enough time, and that kube-scheduler has refused or muster keeps
// from it. A gang is ripe when its first pod is: it is placed whole, including pods that came later.
func (w *waits) ripe(waiting []*cluster.Pod, now time.Time, enough time.Duration) []*cluster.Pod {
	first := map[membership.Key]time.Time{}
	for _, pod := range waiting {
		key, member := membership.Of(pod)
		since, seen := w.since[pod.UID]
		if earliest, known := first[key]; member && seen && (!known || since.Before(earliest)) {
			first[key] = since
		}
	}
	return slices.DeleteFunc(waiting, func(pod *cluster.Pod) bool {
		since, seen := w.since[pod.UID]
		if key, member := membership.Of(pod); member {
			since, seen = first[key]
		}
		return !seen || now.Sub(since) < enough || !pod.Unschedulable() && !membership.Gated(pod.Pod)
	})
}
