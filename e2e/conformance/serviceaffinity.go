package conformance

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drawServiceAffinityArgs draws labels that nodes of a service have in common.
func drawServiceAffinityArgs(s *source) map[string]any {
	labels := []string{one(s, zoneLabel, regionLabel)}
	if s.chance(30) {
		labels = append(labels, one(s, diskLabel, corev1.LabelHostname))
	}
	return map[string]any{"affinityLabels": plain(labels)}
}

// date gives a pod its age, which it shares with many.
func date(s *source, pod *corev1.Pod) {
	pod.CreationTimestamp = metav1.Unix(1_700_000_000+int64(s.upTo(5)), 0)
}
