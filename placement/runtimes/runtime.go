package runtimes

import (
	"slices"
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
	if seconds := pod.Spec.ActiveDeadlineSeconds; seconds != nil && *seconds > 0 && *seconds <= int64(longest/time.Second) {
		return time.Duration(*seconds) * time.Second, true
	}
	runtime, err := time.ParseDuration(pod.Annotations[v1alpha1.AnnotationExpectedRuntime])
	return runtime, err == nil && runtime > 0 && runtime <= longest
}

// Estimates are how long pods run from their start, by what they say, how far others of their namespace were off with that, and former
// pods. A pod that has run for longer than nine of ten, and runs still, counts as several former ones: so nothing is gained by running for
// longer than it is said, or than it was before.
type Estimates struct {
	history *History
	late    map[source][]float64 // for how long such pods run
}

// lateCounts is as how many former pods a pod counts that is late.
const lateCounts = 8

// Of returns how long a pod is expected to run: the median of what is known. It reports false if nothing is.
func (e *Estimates) Of(pod *cluster.Pod) (runtime time.Duration, known bool) {
	of, unit := sourceOf(pod.Pod)
	values := e.history.values(of)
	if len(values) == 0 {
		return 0, false
	}
	if late := e.late[of]; len(late) > 0 {
		values = slices.Sorted(slices.Values(slices.Concat(values, slices.Repeat(late, lateCounts))))
	}
	return times(median(values), unit), true
}

// values returns what is expected by a source, in order: of pods that say how long they run, while nothing is known of others, that they
// are right. There are none where nothing is expected.
func (h *History) values(of source) []float64 {
	former := h.former(of)
	if former == nil && of.stem == "" {
		return []float64{1}
	}
	return former
}
