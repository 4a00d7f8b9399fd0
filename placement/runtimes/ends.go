package runtimes

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	Doubted Doubts
}

// Doubts are namespaces whose pods are not believed.
type Doubts map[string]struct{}

// RuntimeOf returns how long a pod is believed to run from its start, and false if that is not known.
func (d Doubts) RuntimeOf(pod *cluster.Pod) (runtime time.Duration, known bool) {
	if _, doubted := d[pod.Namespace]; doubted {
		return 0, false
	}
	return Of(pod.Pod)
}

// See returns the expected ends of the pods of a snapshot. The clock sees their stamps.
func See(snap *cluster.Snapshot, clock *Clock) Ends {
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			clock.See(pod.CreationTimestamp.Time)
		}
	}
	now, ends := clock.Now(), Ends{Doubted: Doubts{}}
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

// startOf returns when a pod was bound, and false if it is not, as far as the watch shows.
func startOf(pod *cluster.Pod) (start time.Time, runs bool) {
	if pod.Spec.NodeName == "" || pod.Placeholder {
		return time.Time{}, false
	}
	return pod.True(corev1.PodScheduled)
}

// leastLate is the time that a pod is given that is late.
const leastLate = 10 * time.Second

// see returns when a pod is expected to end. One that is late is given some time, and twice as long each time that this is over. A start
// that is yet to come is of another clock, as of a pod that a kubelet has made.
func (e *Ends) see(pod *cluster.Pod, now time.Time) (at time.Time, known bool) {
	start, runs := startOf(pod)
	if !runs || pod.OfDaemonSet() {
		return time.Time{}, false
	}
	e.Running++
	if pod.DeletionTimestamp != nil { // the end of its grace
		if pod.DeletionTimestamp.After(now) {
			return pod.DeletionTimestamp.Time, true
		}
		return now, true
	}
	runtime, known := Of(pod.Pod)
	if !known {
		return time.Time{}, false
	}
	if start.After(now) {
		start = now
	}
	due := start.Add(runtime)
	if now.Sub(due) > runtime {
		e.Doubted[pod.Namespace] = struct{}{}
	}
	for at, more := due, leastLate; more < longest; at, more = due.Add(more), 2*more {
		if at.After(now) {
			return at, true
		}
	}
	return time.Time{}, false // late by years, or without a stamp
}
