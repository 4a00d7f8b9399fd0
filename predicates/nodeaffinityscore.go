package predicates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeAffinityScore prefers the nodes that match most of the preferred terms, by their weights: the terms of
// the pod's node affinity, and the terms that the profile adds for all its pods
// (pkg/scheduler/framework/plugins/nodeaffinity).
type nodeAffinityScore struct {
	added *nodeaffinity.PreferredSchedulingTerms // nil when the profile adds none
}

func newNodeAffinityScore(profile *config.Profile) (Score, error) {
	s := nodeAffinityScore{}
	if added := profile.NodeAffinityArgs().AddedAffinity; added != nil && len(added.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		terms, err := nodeaffinity.NewPreferredSchedulingTerms(added.PreferredDuringSchedulingIgnoredDuringExecution)
		if err != nil {
			return nil, fmt.Errorf("addedAffinity: %w", err)
		}
		s.added = terms
	}
	return s, nil
}

func (nodeAffinityScore) Name() string { return config.NodeAffinity }

// Aspects are the labels; the other thing that terms can match is the name.
func (nodeAffinityScore) Aspects() cluster.Aspect { return cluster.AspectLabels }

func (s nodeAffinityScore) For(pod *cluster.Pod, _ *cluster.Snapshot) Rating {
	own := preferredTerms(pod.Pod)
	if own == nil && s.added == nil {
		return Rating{}
	}
	return Rating{Among: &tally{of: func(node *cluster.Node) int64 {
		var weights int64
		if s.added != nil {
			weights += s.added.Score(node.Node)
		}
		if own != nil {
			weights += own.Score(node.Node)
		}
		return weights
	}}}
}

// preferredTerms is nil for a pod that prefers no nodes, and for one with a term that
// does not parse: kube-scheduler cannot score nodes for that one at all.
func preferredTerms(pod *corev1.Pod) *nodeaffinity.PreferredSchedulingTerms {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	return terms
}
