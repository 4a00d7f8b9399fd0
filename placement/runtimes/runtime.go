package runtimes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// longest is the longest runtime that counts. What claims more is not believed to end.
const longest = 10 * 365 * 24 * time.Hour

// said returns how long a pod says that it runs from its start, and false if it says nothing. An annotation that makes no sense says
// nothing.
func said(pod *corev1.Pod) (runtime time.Duration, says bool) {
	if seconds := pod.Spec.ActiveDeadlineSeconds; seconds != nil && *seconds <= int64(longest/time.Second) {
		return time.Duration(*seconds) * time.Second, true
	}
	runtime, err := time.ParseDuration(pod.Annotations[v1alpha1.AnnotationExpectedRuntime])
	return runtime, err == nil && runtime > 0 && runtime <= longest
}

// Estimates are how long pods run from their start, by what they say and by former pods. Who was wrong by far is not believed: a
// namespace of pods that have run for twice as long as they said, and a workload with a pod that has run for twice as long as nine of ten
// former ones.
type Estimates struct {
	history    *History
	namespaces map[string]struct{}
	workloads  map[workload]struct{}
}

// Most returns the time that a pod is believed to run for at most, in nine of ten cases, and false if that is not known.
func (e *Estimates) Most(pod *cluster.Pod) (runtime time.Duration, known bool) {
	if runtime, says := said(pod.Pod); says {
		_, doubts := e.namespaces[pod.Namespace]
		return runtime, !doubts
	}
	of := workloadOf(pod.Pod)
	former := e.history.former(of)
	if former == nil {
		return 0, false
	}
	_, doubts := e.workloads[of]
	return most(former), !doubts
}
