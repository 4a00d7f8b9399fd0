package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodePorts(t *testing.T) {
	const reason = "node(s) didn't have free ports for the requested pod ports"
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	// beside is a pod that wants a port on a node where another pod has one.
	beside := func(has, wants func(*corev1.Pod)) scene {
		return scene{placed: []*corev1.Pod{pod(has)}, pod: pod(wants)}
	}
	sidecar := func(p *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always, Ports: []corev1.ContainerPort{{HostPort: 80, Protocol: tcp}}}}
	}
	checkVerdicts(t, config.NodePorts, []verdictCase{
		{name: "a pod without host ports fits everywhere", everywhere: true},
		{name: "a container port is not a host port", everywhere: true, scene: scene{pod: pod(taking("", tcp, 0))}},
		{name: "a free port", scene: scene{pod: pod(taking("", tcp, 80))}},
		{
			name:       "a port that is taken, which eviction would free",
			scene:      beside(taking("", tcp, 80), taking("", tcp, 80)),
			reason:     reason,
			resolvable: true,
		},
		{name: "another port", scene: beside(taking("", tcp, 80), taking("", tcp, 81))},
		{name: "another protocol", scene: beside(taking("", tcp, 53), taking("", udp, 53))},
		{name: "no protocol is TCP", scene: beside(taking("", "", 80), taking("", tcp, 80)), reason: reason, resolvable: true},
		{name: "other addresses", scene: beside(taking("10.0.0.1", tcp, 80), taking("127.0.0.1", tcp, 80))},
		{name: "the same address", scene: beside(taking("10.0.0.1", tcp, 80), taking("10.0.0.1", tcp, 80)), reason: reason, resolvable: true},
		{
			name:       "one address against all",
			scene:      beside(taking("0.0.0.0", tcp, 80), taking("10.0.0.1", tcp, 80)),
			reason:     reason,
			resolvable: true,
		},
		{name: "all addresses against one", scene: beside(taking("10.0.0.1", tcp, 80), taking("", tcp, 80)), reason: reason, resolvable: true},
		{name: "a sidecar's port counts", scene: beside(taking("", tcp, 80), sidecar), reason: reason, resolvable: true},
		{name: "one of several is taken", scene: beside(taking("", tcp, 80), func(p *corev1.Pod) {
			taking("", tcp, 79)(p)
			taking("", tcp, 80)(p)
		}), reason: reason, resolvable: true},
	})
}
