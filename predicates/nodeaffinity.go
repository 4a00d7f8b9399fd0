package predicates

import (
	"fmt"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeAffinity holds a pod to the nodes that its selector and required node
// affinity name, and to those that the profile adds for all its pods
// (pkg/scheduler/framework/plugins/nodeaffinity).
type nodeAffinity struct {
	added *nodeaffinity.NodeSelector // nil when the profile adds none
}

func newNodeAffinity(profile *config.Profile) (Predicate, error) {
	p := nodeAffinity{}
	if added := profile.NodeAffinityArgs().AddedAffinity; added != nil && added.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		selector, err := nodeaffinity.NewNodeSelector(added.RequiredDuringSchedulingIgnoredDuringExecution)
		if err != nil {
			return nil, fmt.Errorf("addedAffinity: %w", err)
		}
		p.added = selector
	}
	return p, nil
}

func (nodeAffinity) Name() string { return config.NodeAffinity }

// Aspects are the labels; the other thing that terms can match is the name.
func (nodeAffinity) Aspects() cluster.Aspect { return cluster.AspectLabels }

func (p nodeAffinity) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	affinity := pod.Spec.Affinity
	free := pod.Spec.NodeSelector == nil &&
		(affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil)
	if free && p.added == nil {
		return nil
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod.Pod)
	return CheckFunc(func(node *cluster.Node) Verdict {
		if p.added != nil && !p.added.Match(node.Node) {
			return addedAffinityDiffers | hopeless
		}
		// Like the scheduler, a term that does not parse matches nothing.
		if match, _ := required.Match(node.Node); !match {
			return affinityDiffers | hopeless
		}
		return Fits
	})
}
