package planner

import (
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// Reasons why nothing is moved to a node, or why it is not emptied.
const (
	ReasonNodeNotReady = "the node is not ready"
	ReasonNodeGoes     = "the node is about to be removed"
	ReasonNodeKept     = "the node is annotated not to be removed"
)

// The marks of autoscalers on nodes: taints on nodes that they are about to remove, annotations on nodes that
// they must not.
const (
	taintToBeDeleted       = "ToBeDeletedByClusterAutoscaler"
	taintDeletionCandidate = "DeletionCandidateOfClusterAutoscaler"
	taintDisrupted         = "karpenter.sh/disrupted"
	taintDisruption        = "karpenter.sh/disruption" // the same, before Karpenter 1.0
	annotationScaleDown    = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	annotationDoNotDisrupt = "karpenter.sh/do-not-disrupt" // of pods and nodes
)

// NoTarget says why no plan counts on room on a node, whatever pods tolerate, "" when plans may.
func NoTarget(node *cluster.Node) string {
	if goes(node) {
		return ReasonNodeGoes
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return ReasonNodeNotReady
		}
	}
	return ""
}

// goes reports whether a node is being deleted, or that an autoscaler is about to remove it.
func goes(node *cluster.Node) bool {
	for i := range node.Spec.Taints {
		switch node.Spec.Taints[i].Key {
		case taintToBeDeleted, taintDeletionCandidate, taintDisrupted, taintDisruption:
			return true
		}
	}
	return node.DeletionTimestamp != nil
}

// Keeps says why a node is not to be emptied, "" when it may be: it is not to be removed, or it goes anyway.
func Keeps(node *cluster.Node) string {
	switch {
	case goes(node):
		return ReasonNodeGoes
	case node.Annotations[annotationScaleDown] == "true", notToBeDisrupted(node.Annotations):
		return ReasonNodeKept
	}
	return ""
}

// notToBeDisrupted reports whether Karpenter is to leave a pod or node alone, for good or for a time.
func notToBeDisrupted(annotations map[string]string) bool {
	value := annotations[annotationDoNotDisrupt]
	return value != "" && value != "false"
}
