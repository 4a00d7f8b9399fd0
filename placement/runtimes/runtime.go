package runtimes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// longest is the longest runtime that counts. What claims more is not believed to end.
const longest = 10 * 365 * 24 * time.Hour

// said returns how long a pod says that it runs from its start, and by what: nothing, "", for one that says nothing. An annotation that
// makes no sense says nothing.
func said(pod *corev1.Pod) (runtime time.Duration, by string) {
	if runtime = deadlineOf(pod); runtime < longest {
		return runtime, byDeadline
	}
	runtime, err := time.ParseDuration(pod.Annotations[byAnnotation])
	if err != nil || runtime <= 0 || runtime > longest {
		return 0, ""
	}
	return runtime, byAnnotation
}

// deadlineOf returns after what time the kubelet ends a pod, if nothing does before.
func deadlineOf(pod *corev1.Pod) time.Duration {
	seconds := pod.Spec.ActiveDeadlineSeconds
	if seconds == nil || *seconds <= 0 || *seconds >= int64(longest/time.Second) {
		return longest
	}
	return time.Duration(*seconds) * time.Second
}

// Estimates are how long pods run from their start, by what they say, how far others of their namespace were off with that, and former
// pods of their workload. No pod of a namespace is believed while more than a tenth of its pods that run are late by far: run for more
// than twice as long as nine of ten former ones. There authors do not know, or lie. The ends of pods that run are expected all the same.
type Estimates struct {
	history *History
	pods    map[string]tally // of each namespace
}

// tally counts pods that run and are expected to end, and the ones among them that are late by far.
type tally struct{ all, late int }

func (t tally) isDoubtful() bool { return 10*t.late > t.all }

// Of returns how long a pod is expected to run: the median of what is known. It reports false if nothing is.
func (e *Estimates) Of(pod *cluster.Pod) (runtime time.Duration, known bool) {
	if e.pods[pod.Namespace].isDoubtful() {
		return 0, false
	}
	of, unit := sourceOf(pod.Pod)
	values := e.history.values(of)
	if len(values) == 0 {
		return 0, false
	}
	return min(times(median(values), unit), deadlineOf(pod.Pod)), true
}
