package predicates

import (
	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeName holds a pod to the node that its spec names
// (pkg/scheduler/framework/plugins/nodename).
type nodeName struct{}

func newNodeName(*config.Profile) (Predicate, error) { return nodeName{}, nil }

func (nodeName) Name() string { return config.NodeName }

// Aspects is empty: a node's name never changes.
func (nodeName) Aspects() cluster.Aspect { return 0 }

func (nodeName) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	wanted := pod.Spec.NodeName
	if wanted == "" {
		return nil
	}
	return CheckFunc(func(node *cluster.Node) Verdict {
		if node.Name != wanted {
			return nodeNameDiffers | hopeless
		}
		return Fits
	})
}
