package predicates

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
	declared "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeDeclaredFeatures holds a pod to the nodes whose kubelet declares the features that the pod needs, as
// user namespaces with the host's network (pkg/scheduler/framework/plugins/nodedeclaredfeatures). The library says
// which pod needs what.
type nodeDeclaredFeatures struct {
	// release is the Kubernetes release of the library. A feature that every kubelet of that release has needs no
	// declaration.
	release *version.Version
}

func newNodeDeclaredFeatures(*config.Profile) (Predicate, error) {
	return nodeDeclaredFeatures{release: version.MajorMinor(1, 37)}, nil
}

func (nodeDeclaredFeatures) Name() string { return config.NodeDeclaredFeatures }

func (nodeDeclaredFeatures) Aspects() cluster.Aspect { return cluster.AspectFeatures }

func (p nodeDeclaredFeatures) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	needed, err := declared.DefaultFramework.InferForPodScheduling(&types.PodInfo{Spec: &pod.Spec}, p.release)
	if err != nil || needed.IsEmpty() { // it fails only without a release
		return nil
	}
	names, err := declared.DefaultFramework.Unmap(needed)
	if err != nil {
		return nil // it fails only for a set that another library made
	}
	return CheckFunc(func(node *cluster.Node) Verdict {
		for _, name := range names {
			if !slices.Contains(node.Status.DeclaredFeatures, name) {
				return featuresMissing | hopeless
			}
		}
		return Fits
	})
}
