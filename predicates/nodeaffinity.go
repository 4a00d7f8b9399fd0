package predicates

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeAffinity holds a pod to the nodes that its selector and required node affinity select, and that the
// profile selects for all its pods (pkg/scheduler/framework/plugins/nodeaffinity).
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
	return &nodeAffinityCheck{added: p.added, required: required}
}

// nodeAffinityCheck is nodeAffinity for a pod.
type nodeAffinityCheck struct {
	added    *nodeaffinity.NodeSelector // nil when the profile adds none
	required nodeaffinity.RequiredNodeAffinity
}

func (c *nodeAffinityCheck) Verdict(node *cluster.Node) Verdict {
	switch {
	case !c.isAdded(node):
		return addedAffinityDiffers | hopeless
	case !c.isRequired(node):
		return affinityDiffers | hopeless
	}
	return Fits
}

// Verdicts implements [Plural].
func (c *nodeAffinityCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	if !c.isAdded(node) {
		visit(addedAffinityDiffers | hopeless)
	}
	if !c.isRequired(node) {
		visit(affinityDiffers | hopeless)
	}
}

func (c *nodeAffinityCheck) isAdded(node *cluster.Node) bool {
	return c.added == nil || c.added.Match(node.Node)
}

// isRequired is false, as with kube-scheduler, for a term that does not parse: that matches nothing.
func (c *nodeAffinityCheck) isRequired(node *cluster.Node) bool {
	match, _ := c.required.Match(node.Node)
	return match
}

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
