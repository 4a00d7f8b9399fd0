package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// pressure is the percentage of time that processes of a node may wait for a resource, for the resources with a
// threshold: cpu and memory. Waiting hurts, whatever the use: limits throttle containers on idle nodes, and a
// busy node may serve everyone in time.
type pressure map[corev1.ResourceName]int64

// on returns the resources that processes of a node wait for too long.
func (p pressure) on(node *cluster.Node) (names []corev1.ResourceName) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if most := p[name]; most > 0 && pressureOn(node, name) >= float64(most) {
			names = append(names, name)
		}
	}
	return names
}

func pressureOn(node *cluster.Node, name corev1.ResourceName) float64 {
	switch {
	case node.Usage == nil:
		return 0
	case name == corev1.ResourceCPU:
		return node.Usage.Pressure.CPU
	}
	return node.Usage.Pressure.Memory
}

// describe returns a node and what its processes wait for too long, in words; "" when they do not.
func (p pressure) describe(node *cluster.Node) string {
	for _, name := range p.on(node) {
		return fmt.Sprintf("%s, whose processes wait for %s %.0f %% of the time", node.Name, name, pressureOn(node, name))
	}
	return ""
}
