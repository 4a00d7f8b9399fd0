package conformance

import (
	corev1 "k8s.io/api/core/v1"
)

func cordon(s *source, node *corev1.Node) { node.Spec.Unschedulable = s.chance(20) }

func nameNode(s *source, pod *corev1.Pod) {
	if s.chance(10) {
		pod.Spec.NodeName = one(s, nodeName(0), nodeName(1), nodeName(2), "nowhere")
	}
}

// The vocabulary of taints and tolerations. Numbers are for the operators Lt and Gt,
// which are off by default.
func taintKey(s *source) string {
	return one(s, corev1.TaintNodeUnschedulable, "dedicated", "example.com/level")
}

func taintValue(s *source) string { return one(s, "", "batch", "web", "3", "7") }

func taintEffect(s *source) corev1.TaintEffect {
	return one(s, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)
}

func taint(s *source, node *corev1.Node) {
	if s.chance(50) {
		return
	}
	for range 1 + s.upTo(2) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: taintKey(s), Value: taintValue(s), Effect: taintEffect(s)})
	}
}

func tolerate(s *source, pod *corev1.Pod) {
	if s.chance(25) {
		return
	}
	for range 1 + s.upTo(3) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, s.toleration())
	}
}

func (s *source) toleration() corev1.Toleration {
	t := corev1.Toleration{
		Key: taintKey(s),
		Operator: one(
			s, "", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt,
		),
		Effect: one(s, "", taintEffect(s)),
	}
	if t.Operator != corev1.TolerationOpExists {
		t.Value = taintValue(s)
	} else if s.chance(25) {
		t.Key = ""
	}
	if s.chance(20) {
		seconds := one(s, int64(0), 300, -1)
		t.TolerationSeconds = &seconds
	}
	return t
}

// condition gives a node conditions, of which most are as they should be.
func condition(s *source, node *corev1.Node) {
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
		"ExamplePressure",
	} {
		status := one(s, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)
		if s.chance(75) {
			status = corev1.ConditionFalse
			if kind == corev1.NodeReady {
				status = corev1.ConditionTrue
			}
		}
		if s.chance(90) {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status})
		}
	}
}
