package forward

import (
	corev1 "k8s.io/api/core/v1"
)

// Process is one of muster's, and how its pods are told from others.
type Process struct {
	name string
	// selectors choose its pods: by the labels of the chart, which the static pod of kubeadm has as well, or by the labels that this
	// one had before.
	selectors []string
	// container runs it.
	container string
	// port is where it shows itself, unless the container has a port of a name that says so.
	port     int32
	portName string
}

// formerStaticPod chooses the static pods that were documented before they had a name of an application.
const formerStaticPod = "component=muster,tier=control-plane,!app.kubernetes.io/name"

// Muster is 'muster serve', at debug.listen.
func Muster() Process {
	return Process{
		name: "muster", selectors: []string{"app.kubernetes.io/name=muster", formerStaticPod}, container: "muster", port: 8887, portName: "debug",
	}
}

// Rescheduler is 'muster reschedule', at rescheduler.listen: in muster's pod or in one of its own.
func Rescheduler() Process {
	return Process{
		name: "rescheduler", selectors: []string{"app.kubernetes.io/name in (muster, muster-rescheduler)", formerStaticPod},
		container: "rescheduler", port: 8889, portName: "rescheduler",
	}
}

// portIn is the port of the process in a pod, 0 if the pod does not run it. Sidecars are init containers.
func (p Process) portIn(pod *corev1.Pod) int32 {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if containers[i].Name != p.container {
				continue
			}
			for _, port := range containers[i].Ports {
				if port.Name == p.portName {
					return port.ContainerPort
				}
			}
			return p.port
		}
	}
	return 0
}
