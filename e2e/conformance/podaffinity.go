package conformance

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func drawInterPodAffinityArgs(s *source) map[string]any {
	args := map[string]any{}
	if s.chance(80) {
		args["hardPodAffinityWeight"] = one(s, 0, 1, 10, 100)
	}
	if s.chance(50) {
		args["ignorePreferredTermsOfExistingPods"] = s.chance(50)
	}
	return args
}

// drawPodAffinity gives a pod terms about other pods, of which it may be one itself.
func drawPodAffinity(s *source, pod *corev1.Pod) {
	if s.chance(50) {
		return
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if s.chance(60) {
		pod.Spec.Affinity.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  s.podAffinityTerms(one(s, 0, 0, 1, 1, 2), pod),
			PreferredDuringSchedulingIgnoredDuringExecution: s.weightedPodAffinityTerms(s.upTo(2), pod),
		}
	}
	if s.chance(60) {
		pod.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  s.podAffinityTerms(one(s, 0, 0, 1, 1, 2), pod),
			PreferredDuringSchedulingIgnoredDuringExecution: s.weightedPodAffinityTerms(s.upTo(2), pod),
		}
	}
}

func (s *source) podAffinityTerms(count int, owner *corev1.Pod) []corev1.PodAffinityTerm {
	var terms []corev1.PodAffinityTerm
	for range count {
		terms = append(terms, s.podAffinityTerm(owner))
	}
	return terms
}

func (s *source) weightedPodAffinityTerms(count int, owner *corev1.Pod) []corev1.WeightedPodAffinityTerm {
	var terms []corev1.WeightedPodAffinityTerm
	for range count {
		terms = append(terms, corev1.WeightedPodAffinityTerm{Weight: one(s, int32(1), 1, 7, 33, 100), PodAffinityTerm: s.podAffinityTerm(owner)})
	}
	return terms
}

// podAffinityTerm draws a term, which may be about the pod itself or about those that
// many are like. Few do not parse.
func (s *source) podAffinityTerm(owner *corev1.Pod) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: s.topologyKey(), LabelSelector: s.labelSelector(podLabels())}
	switch {
	case s.chance(2):
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "not a value"}}
	case s.chance(25):
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: owner.Labels}
	case s.chance(40):
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: common()}
	}
	if s.chance(25) {
		term.Namespaces = several(s, 2, append(namespaceNames(), "nowhere")...)
	}
	if s.chance(30) {
		term.NamespaceSelector = withoutAbsence(s.labelSelector(namespaceLabels()))
	}
	if s.chance(15) { // the API server has merged them into the selector, or does not know of them
		term.MatchLabelKeys = s.keys(podLabels())
	}
	if s.chance(15) {
		term.MismatchLabelKeys = s.keys(podLabels())
	}
	return term
}
