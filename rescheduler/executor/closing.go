package executor

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// closeNode keeps new pods off a node as a mark says. A cordon of somebody else stays theirs.
func closeNode(node *corev1.Node, mark config.NodeMark) {
	disown(node)
	switch mark {
	case config.MarkTaint:
		if !isTainted(node) {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: v1alpha1.TaintClosed, Effect: corev1.TaintEffectNoSchedule})
		}
	case config.MarkCordon:
		if !node.Spec.Unschedulable {
			node.Spec.Unschedulable = true
			annotate(node, v1alpha1.AnnotationCordoned, "true")
		}
	case config.MarkNone, config.MarkAnnotate:
	}
}

// openNode takes back what closeNode did, whatever the mark is by now, and leaves alone what others did.
func openNode(node *corev1.Node) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isOurTaint)
	if isOurCordon(node) {
		node.Spec.Unschedulable = false
	}
	annotate(node, v1alpha1.AnnotationCordoned, "")
	annotate(node, v1alpha1.AnnotationClosedUntil, "")
}

// isClosed reports whether closeNode keeps pods off a node.
func isClosed(node *corev1.Node) bool { return isTainted(node) || isOurCordon(node) }

func isTainted(node *corev1.Node) bool { return slices.ContainsFunc(node.Spec.Taints, isOurTaint) }

func isOurTaint(taint corev1.Taint) bool { return taint.Key == v1alpha1.TaintClosed }

// isOurCordon reports whether a node is cordoned by a plan: nobody else has written spec.unschedulable since.
// The author is known of a node as the API server has it; the view does not keep that.
func isOurCordon(node *corev1.Node) bool {
	return node.Spec.Unschedulable && node.Annotations[v1alpha1.AnnotationCordoned] == "true" &&
		!slices.ContainsFunc(node.ManagedFields, cordonsForOthers)
}

func cordonsForOthers(entry metav1.ManagedFieldsEntry) bool {
	if entry.Manager == cluster.FieldManager || entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, writes := fields.Spec["f:unschedulable"]
	return writes
}

// lostCordon takes note that somebody has uncordoned a node that a plan had cordoned, nil when nobody has. If it
// is cordoned again, that is not for the plan.
func lostCordon(node *corev1.Node) func(*corev1.Node) {
	if node.Annotations[v1alpha1.AnnotationCordoned] == "" || isOurCordon(node) {
		return nil
	}
	return disown
}

// disown takes the annotation off a node that it is cordoned for a plan, unless it is.
func disown(node *corev1.Node) {
	if !isOurCordon(node) {
		annotate(node, v1alpha1.AnnotationCordoned, "")
	}
}

// annotate sets an annotation, or takes it off if it is "".
func annotate(node *corev1.Node, name, value string) {
	if value == "" {
		delete(node.Annotations, name)
		return
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[name] = value
}
