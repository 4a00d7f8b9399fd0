package predicates

import (
	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodePorts keeps pods apart that ask for the same host port
// (pkg/scheduler/framework/plugins/nodeports).
type nodePorts struct{}

func newNodePorts(*config.Profile) (Predicate, error) { return nodePorts{}, nil }

func (nodePorts) Name() string { return config.NodePorts }

func (nodePorts) Aspects() cluster.Aspect { return cluster.AspectPorts }

func (nodePorts) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	wanted := pod.HostPorts
	if len(wanted) == 0 {
		return nil
	}
	return CheckFunc(func(node *cluster.Node) Verdict {
		for _, taken := range node.Ports {
			for _, port := range wanted {
				if port.Conflicts(taken) {
					return hostPortTaken
				}
			}
		}
		return Fits
	})
}
