package conformance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
)

// declareFeatures has the kubelet of a node declare some of the features that there are, and one that nobody knows.
func declareFeatures(s *source, node *corev1.Node) {
	if s.chance(20) {
		return
	}
	names := []string{"Unknown"}
	for _, feature := range features.AllFeatures {
		names = append(names, feature.Name())
	}
	node.Status.DeclaredFeatures = several(s, len(names), names...)
	slices.Sort(node.Status.DeclaredFeatures) // as the API server has it
	node.Status.DeclaredFeatures = slices.Compact(node.Status.DeclaredFeatures)
}

// needFeatures draws what a pod needs a feature for, or nearly so.
func needFeatures(s *source, pod *corev1.Pod) {
	if s.chance(20) {
		pod.Spec.HostNetwork = true
	}
	if s.chance(40) {
		pod.Spec.HostUsers = new(s.chance(40))
	}
	for _, container := range containers(pod) {
		if s.chance(8) {
			action := one(s, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
			container.RestartPolicyRules = append(container.RestartPolicyRules, corev1.ContainerRestartRule{Action: action})
		}
	}
}
