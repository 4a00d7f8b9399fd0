package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestTaintToleration(t *testing.T) {
	const reason = "node(s) had untolerated taint(s)"
	gpu := node(tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule))
	evicting := node(tainted("dedicated", "gpu", corev1.TaintEffectNoExecute))
	level := node(tainted("level", "7", corev1.TaintEffectNoSchedule))
	minute := int64(60)
	with := func(node *corev1.Node, t ...corev1.Toleration) scene {
		p := pod()
		p.Spec.Tolerations = t
		return scene{node: node, pod: p}
	}
	checkVerdicts(t, config.TaintToleration, []verdictCase{
		{name: "a node without taints takes every pod"},
		{name: "a NoSchedule taint keeps a pod off, and eviction does not help", scene: with(gpu), reason: reason},
		{name: "a NoExecute taint keeps a pod off", scene: with(evicting), reason: reason},
		{name: "a PreferNoSchedule taint does not", scene: with(node(tainted("dedicated", "gpu", corev1.TaintEffectPreferNoSchedule)))},
		{name: "a toleration without an operator compares the value", scene: with(gpu, corev1.Toleration{Key: "dedicated", Value: "gpu"})},
		{name: "another value is not tolerated", scene: with(gpu, corev1.Toleration{Key: "dedicated", Value: "cpu"}), reason: reason},
		{name: "another key is not tolerated", scene: with(gpu, corev1.Toleration{Key: "other", Value: "gpu"}), reason: reason},
		{
			name:   "another effect is not tolerated",
			scene:  with(gpu, corev1.Toleration{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}),
			reason: reason,
		},
		{name: "Exists takes any value", scene: with(gpu, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists})},
		{name: "Exists without a key takes any taint", scene: with(gpu, corev1.Toleration{Operator: corev1.TolerationOpExists})},
		{
			name:   "Exists without a key keeps to its effect",
			scene:  with(gpu, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}),
			reason: reason,
		},
		{
			name: "a toleration for a time is a toleration",
			scene: with(
				evicting,
				corev1.Toleration{
					Key:               "dedicated",
					Operator:          corev1.TolerationOpExists,
					Effect:            corev1.TaintEffectNoExecute,
					TolerationSeconds: &minute,
				},
			),
		},
		{
			name:   "the operator Gt is off, like the feature gate",
			scene:  with(level, corev1.Toleration{Key: "level", Operator: corev1.TolerationOpGt, Value: "3"}),
			reason: reason,
		},
		{name: "all taints must be tolerated", reason: reason, scene: with(
			node(tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule), tainted("level", "7", corev1.TaintEffectNoSchedule)),
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists},
		)},
		{name: "several tolerations may share the taints", scene: with(
			node(tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule), tainted("level", "7", corev1.TaintEffectNoSchedule)),
			corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "level", Value: "7"},
		)},
		{name: "the cordon of a node is not looked at", scene: scene{node: node(cordoned)}},
	})
}
