package conformance

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
)

// completeKeys gives many nodes all topology keys.
func completeKeys(s *source, node *corev1.Node) {
	if node.Labels == nil || s.chance(30) {
		return
	}
	for _, label := range nodeLabels() {
		if _, labelled := node.Labels[label.key]; !labelled && (label.key == zoneLabel || label.key == regionLabel) {
			node.Labels[label.key] = one(s, label.values...)
		}
	}
}

// common are the labels of most pods.
func common() map[string]string { return map[string]string{"app": "web"} }

// herd makes many of the pods that are placed alike.
func herd(s *source, pod *corev1.Pod) {
	if s.chance(50) {
		pod.Labels = common()
	}
}

// spreadPods draws the topology spread constraints of a pod. Many have none, for the
// default ones.
func spreadPods(s *source, pod *corev1.Pod) {
	if s.chance(50) {
		return
	}
	for range one(s, 1, 1, 1, 2, 3) {
		constraint := s.spreadConstraint()
		switch constraint.LabelSelector = s.labelSelector(podLabels()); {
		case s.chance(1):
			constraint.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "no value: of a label"}}
		case s.chance(60):
			constraint.LabelSelector = &metav1.LabelSelector{MatchLabels: common()}
		}
		if s.chance(25) {
			constraint.MatchLabelKeys = s.keys(podLabels())
		}
		if s.chance(25) {
			few := one(s, int32(0), 1, 2, 3, 4, 20)
			constraint.MinDomains = &few
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
}

// topologyKey draws the name of a label that most, many or no nodes have.
func (s *source) topologyKey() string {
	if s.chance(10) {
		return one(s, diskLabel, "absent")
	}
	return one(s, zoneLabel, zoneLabel, regionLabel, corev1.LabelHostname)
}

// drawSpreadArgs draws default constraints, or where they come from. No two may be for
// the same purpose.
func drawSpreadArgs(s *source) map[string]any {
	if s.chance(20) {
		return map[string]any{"defaultingType": config.SystemDefaulting}
	}
	type purpose struct {
		key    string
		action corev1.UnsatisfiableConstraintAction
	}
	drawn := map[purpose]bool{}
	var constraints []corev1.TopologySpreadConstraint
	for range s.upTo(3) {
		constraint := s.spreadConstraint()
		if p := (purpose{constraint.TopologyKey, constraint.WhenUnsatisfiable}); !drawn[p] {
			drawn[p] = true
			constraints = append(constraints, constraint)
		}
	}
	return map[string]any{"defaultingType": config.ListDefaulting, "defaultConstraints": plain(constraints)}
}

// spreadConstraint draws what constraints of pods and default ones have in common.
func (s *source) spreadConstraint() corev1.TopologySpreadConstraint {
	policy := func() *corev1.NodeInclusionPolicy {
		policies := []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}
		if s.chance(50) {
			return nil
		}
		return new(one(s, policies...))
	}
	return corev1.TopologySpreadConstraint{
		MaxSkew:            one(s, int32(1), 1, 1, 2, 3, 5),
		TopologyKey:        s.topologyKey(),
		WhenUnsatisfiable:  one(s, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		NodeAffinityPolicy: policy(),
		NodeTaintsPolicy:   policy(),
	}
}
