package runtimes

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// End says when a pod is expected to leave its node.
type End struct {
	Pod  *cluster.Pod
	Node *cluster.Node
	At   time.Time // of the API server
}

// Ends are the expected ends of pods that run.
type Ends struct {
	// Of has the ends of pods, the first ones first. Pods that say nothing are left out, and pods of DaemonSets, in whose place
	// others come.
	Of []End
	// Running is how many pods run that are of no DaemonSet.
	Running int
	// Doubted are the namespaces of pods that have run for twice as long as they said: what other pods there say is not believed.
	Doubted sets.Set[string]
}

// See returns the expected ends of the pods of a snapshot. The clock sees their stamps.
func See(snap *cluster.Snapshot, clock *Clock) Ends {
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if start, runs := startOf(pod); runs {
				clock.See(start)
			}
		}
	}
	now, ends := clock.Now(), Ends{Doubted: sets.New[string]()}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if at, known := ends.see(pod, now); known {
				ends.Of = append(ends.Of, End{pod, node, at})
			}
		}
	}
	slices.SortFunc(ends.Of, func(a, b End) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod.UID, b.Pod.UID)) })
	return ends
}

// RuntimeOf returns how long a pod is believed to run from its start, and false if that is not known.
func (e *Ends) RuntimeOf(pod *cluster.Pod) (runtime time.Duration, known bool) {
	if e.Doubted.Has(pod.Namespace) {
		return 0, false
	}
	return Of(pod.Pod)
}

// startOf returns when a pod was bound, and false if it is not, as far as the watch shows.
func startOf(pod *cluster.Pod) (start time.Time, runs bool) {
	if pod.Spec.NodeName == "" || pod.Placeholder {
		return time.Time{}, false
	}
	return pod.True(corev1.PodScheduled)
}

// leastLate is the shortest time that a pod is given that is late.
const leastLate = 10 * time.Second

// see returns when a pod is expected to end. One that is late is given as long again as it is late.
func (e *Ends) see(pod *cluster.Pod, now time.Time) (at time.Time, known bool) {
	start, runs := startOf(pod)
	if !runs || pod.OfDaemonSet() {
		return time.Time{}, false
	}
	e.Running++
	if pod.DeletionTimestamp != nil { // the end of its grace
		return later(pod.DeletionTimestamp.Time, now), true
	}
	runtime, known := Of(pod.Pod)
	if !known {
		return time.Time{}, false
	}
	at = start.Add(runtime)
	if late := now.Sub(at); late > 0 {
		at = now.Add(max(late, leastLate))
		if late > runtime {
			e.Doubted.Insert(pod.Namespace)
		}
	}
	return at, true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
