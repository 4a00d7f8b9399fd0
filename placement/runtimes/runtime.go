package runtimes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// longest is the longest runtime that counts. What claims more is not believed to end.
const longest = 10 * 365 * 24 * time.Hour

// Of returns how long a pod runs from its start, and false if that is not known. An annotation that makes no sense says nothing.
func Of(pod *corev1.Pod) (runtime time.Duration, known bool) {
	if seconds := pod.Spec.ActiveDeadlineSeconds; seconds != nil && *seconds <= int64(longest/time.Second) {
		return time.Duration(*seconds) * time.Second, true
	}
	said, err := time.ParseDuration(pod.Annotations[v1alpha1.AnnotationExpectedRuntime])
	return said, err == nil && said > 0 && said <= longest
}
