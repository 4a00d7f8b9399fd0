package v1alpha1

// Annotations of nodes.
const (
	// AnnotationEmptying names the plan that empties the node, while it is carried out.
	AnnotationEmptying = Group + "/emptying"
	// AnnotationEmptied names the plan that has emptied the node, as long as it is empty.
	AnnotationEmptied = Group + "/emptied"
	// AnnotationCordoned is "true" when the node was cordoned for one of the two, and not by somebody else.
	AnnotationCordoned = Group + "/cordoned"
	// AnnotationClosedUntil is when an emptied node is opened again that is tainted or cordoned for that, as in
	// 2026-01-02T03:04:05Z.
	AnnotationClosedUntil = Group + "/closed-until"
	// AnnotationRemovable is "true" when the cluster could do without the node, if it kept all
	// others.
	AnnotationRemovable = Group + "/removable"
	// AnnotationRemovableSteps is how many pods would have to move for that.
	AnnotationRemovableSteps = Group + "/removable-steps"
)

// TaintClosed is the key of the taint NoSchedule of a node that is being emptied, or was, if the configuration
// asks for taints.
const TaintClosed = Group + "/closed"
