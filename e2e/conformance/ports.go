package conformance

import (
	corev1 "k8s.io/api/core/v1"
)

func takePorts(s *source, pod *corev1.Pod) {
	pod.Spec.HostNetwork = s.chance(10)
	for _, container := range containers(pod) {
		if !s.chance(25) {
			continue
		}
		for range 1 + s.upTo(1) {
			container.Ports = append(container.Ports, corev1.ContainerPort{
				ContainerPort: one(s, int32(53), 80, 8080),
				HostPort:      one(s, int32(0), 53, 80, 8080),
				Protocol:      one(s, "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
				HostIP:        one(s, "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1"),
			})
		}
		if s.chance(20) { // twice the same one, as far as all addresses are the same
			again := container.Ports[0]
			again.HostIP = one(s, again.HostIP, "", "0.0.0.0", "::")
			container.Ports = append(container.Ports, again)
		}
	}
}
