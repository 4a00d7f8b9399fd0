package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeName(t *testing.T) {
	naming := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeName = name }
	}
	checkVerdicts(t, config.NodeName, []verdictCase{
		{name: "a pod that names no node fits everywhere", everywhere: true},
		{name: "a pod fits on the node that it names", scene: scene{pod: pod(naming("node"))}},
		{
			name: "a pod fits on no other node, and eviction does not help", scene: scene{pod: pod(naming("another"))},
			reason: "node(s) didn't match the requested node name",
		},
	})
}
