package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeUnschedulable(t *testing.T) {
	const reason = "node(s) were unschedulable"
	cordon := scene{node: node(cordoned)}
	checkVerdicts(t, config.NodeUnschedulable, []verdictCase{
		{name: "a pod fits on a node that is not cordoned"},
		{name: "a pod does not fit on a cordoned node, and eviction does not help", scene: cordon, reason: reason},
		{
			name:       "a pod that tolerates everything fits on every node",
			scene:      scene{pod: pod(tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}))},
			everywhere: true,
		},
		{name: "a pod that tolerates the taint fits on every node", everywhere: true, scene: scene{
			pod: pod(
				tolerating(
					corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
				),
			),
		}},
		{name: "a toleration of the key with no value is one of the taint", everywhere: true, scene: scene{
			pod: pod(tolerating(corev1.Toleration{Key: corev1.TaintNodeUnschedulable})),
		}},
		{name: "a toleration of another effect does not count", reason: reason, scene: scene{
			node: cordon.node,
			pod: pod(
				tolerating(
					corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
				),
			),
		}},
		{name: "a taint alone is no cordon", scene: scene{
			node: node(tainted(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)),
		}},
	})
}
