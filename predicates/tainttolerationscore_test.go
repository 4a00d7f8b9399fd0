package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestTaintTolerationScore(t *testing.T) {
	const prefer = corev1.TaintEffectPreferNoSchedule
	one := tainted("dedicated", "gpu", prefer)
	two := tainted("level", "7", prefer)
	third := tainted("spare", "", prefer)
	// beside is a node among others.
	beside := func(node *corev1.Node, tolerations []corev1.Toleration, others ...*corev1.Node) scene {
		p := pod()
		p.Spec.Tolerations = tolerations
		return scene{node: node, others: others, pod: p}
	}
	gpu := []corev1.Toleration{{Key: "dedicated", Value: "gpu"}}
	exists := func(effect corev1.TaintEffect) []corev1.Toleration {
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: effect}}
	}
	checkRates(t, config.TaintToleration, []rateCase{
		{name: "where no node is tainted all are the best", scene: beside(node(), nil, node(called("b"))), want: 100},
		{name: "a node without taints beside one with some is the best", scene: beside(node(), nil, node(called("b"), one)), want: 100},
		{name: "the one with the most is the worst", scene: beside(node(one), nil, node(called("b"))), want: 0},
		// 100 - 100·1/3, rounded down.
		{name: "between them rates go by the number of taints", scene: beside(node(one), nil, node(called("b"), one, two, third)), want: 67},
		{name: "where all have as many all are the worst", scene: beside(node(one), nil, node(called("b"), two)), want: 0},
		{name: "a taint that is tolerated does not count", scene: beside(node(one), gpu, node(called("b"), two)), want: 100},
		{name: "of several the others do", scene: beside(node(one, two), gpu, node(called("b"), one)), want: 0},
		{
			name:  "a taint that keeps pods off does not count",
			scene: beside(node(tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule)), nil, node(called("b"), one)),
			want:  100,
		},
		{name: "a toleration without effect tolerates", scene: beside(node(one), exists(""), node(called("b"))), want: 100},
		{name: "one for the effect tolerates", scene: beside(node(one), exists(prefer), node(called("b"))), want: 100},
		{name: "one for another effect does not", scene: beside(node(one), exists(corev1.TaintEffectNoSchedule), node(called("b"))), want: 0},
	})
}
