package executor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// NodeChange is what changes of a node.
type NodeChange struct {
	// Annotations are set, or taken off if they are "".
	Annotations map[string]string
	// Unschedulable is set unless it is nil.
	Unschedulable *bool
}

// mark marks the nodes that a plan empties, so that whoever removes nodes knows. A cordon keeps other
// pods off them as well, and nothing else does. It must be done before anything is evicted.
func (e *Executor) mark(ctx context.Context, plan *v1alpha1.ReschedulingPlan) error {
	if e.Mark != config.MarkAnnotate && e.Mark != config.MarkCordon {
		return nil
	}
	snap := e.Cluster.Snapshot()
	for _, name := range plan.Spec.Empties {
		node := snap.NodeByName(name)
		if node == nil || node.Annotations[v1alpha1.AnnotationEmptying] == plan.Name {
			continue
		}
		change := NodeChange{Annotations: map[string]string{v1alpha1.AnnotationEmptying: plan.Name}}
		if e.Mark == config.MarkCordon && !node.Spec.Unschedulable {
			change.Unschedulable, change.Annotations[v1alpha1.AnnotationCordoned] = new(true), "true"
		}
		if err := e.Client.PatchNode(ctx, node.Node, change); err != nil {
			return err
		}
	}
	return nil
}

// tidy makes the marks of nodes true, whoever made them: a plan that has succeeded has emptied its
// nodes, what one did that failed or is gone is undone, and a node on which there is something is
// not empty any more.
func (e *Executor) tidy(ctx context.Context) {
	if e.Clock.Now().Before(e.rest) {
		return
	}
	plans := map[string]*v1alpha1.ReschedulingPlan{}
	for _, plan := range e.Reservations.Plans() {
		plans[plan.Name] = plan
	}
	for node := range e.Cluster.Snapshot().Nodes() {
		change, untrue := correction(node, plans)
		if !untrue {
			continue
		}
		if err := e.Client.PatchNode(ctx, node.Node, change); err != nil {
			e.Logger.Warn("cannot correct the marks of a node", "node", node.Name, "err", err)
			e.rest = e.Clock.Now().Add(maxPause)
			return
		}
	}
}

// correction is what has to change of the marks of a node.
func correction(node *cluster.Node, plans map[string]*v1alpha1.ReschedulingPlan) (change NodeChange, untrue bool) {
	emptying := node.Annotations[v1alpha1.AnnotationEmptying]
	plan := plans[emptying]
	switch {
	case emptying == "" && (node.Annotations[v1alpha1.AnnotationEmptied] == "" || planner.IsEmpty(node)):
		return NodeChange{}, false
	case plan != nil && !plan.Ended():
		return NodeChange{}, false
	case plan != nil && plan.Status.Phase == v1alpha1.Succeeded && resident(node, nil) == nil:
		if !planner.IsEmpty(node) {
			return NodeChange{}, false // until what is there has ended
		}
		return NodeChange{Annotations: map[string]string{v1alpha1.AnnotationEmptying: "", v1alpha1.AnnotationEmptied: emptying}}, true
	}
	change.Annotations = map[string]string{v1alpha1.AnnotationEmptying: "", v1alpha1.AnnotationEmptied: "", v1alpha1.AnnotationCordoned: ""}
	if isOurCordon(node.Node) {
		change.Unschedulable = new(false)
	}
	return change, true
}

// newcomer says which pod would be left on a node that a plan empties once the rest of its steps is
// done, from one on; "" when none would.
func (e *Executor) newcomer(plan *v1alpha1.ReschedulingPlan, from int) string {
	leaving := sets.New[types.UID]()
	for i := from; i < len(plan.Spec.Steps); i++ {
		leaving.Insert(plan.Spec.Steps[i].Pod.UID)
	}
	for _, name := range plan.Spec.Empties {
		node := e.Cluster.Snapshot().NodeByName(name)
		if node == nil {
			continue
		}
		if pod := resident(node, leaving); pod != nil {
			return fmt.Sprintf("%s would not become empty any more: %s is there", name, nameOf(pod))
		}
	}
	return ""
}

// resident is a pod that stays on a node though others leave it, nil when there is none but those
// that go with the node.
func resident(node *cluster.Node, leaving sets.Set[types.UID]) *cluster.Pod {
	for _, pod := range node.Pods {
		if !planner.GoesWithNode(pod) && pod.DeletionTimestamp == nil && !leaving.Has(pod.UID) {
			return pod
		}
	}
	return nil
}

// isOurCordon says that a node is cordoned, and that it was a plan that did so.
func isOurCordon(node *corev1.Node) bool {
	return node.Spec.Unschedulable && node.Annotations[v1alpha1.AnnotationCordoned] == "true"
}
