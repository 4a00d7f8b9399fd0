package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// marks are the marks on nodes that are, or were, emptied by plans.
type marks struct {
	Options

	rest        time.Time           // none is taken off before
	needsLooked time.Time           // when it was last looked which closed nodes are needed
	needy       sets.Set[types.UID] // the pods that waited then
}

// mark marks the nodes that a plan empties, for programs that remove nodes. A taint and a cordon keep other
// pods off them as well, and nothing else does. It must be done before anything is evicted.
func (m *marks) mark(ctx context.Context, plan *v1alpha1.ReschedulingPlan) error {
	if m.Mark == config.MarkNone || m.Mark == "" {
		return nil
	}
	snap := m.Cluster.Snapshot()
	for _, name := range plan.Spec.Empties {
		node := snap.NodeByName(name)
		if node == nil || node.Annotations[v1alpha1.AnnotationEmptying] == plan.Name {
			continue
		}
		err := m.Client.EditNode(ctx, node.Node, func(fresh *corev1.Node) {
			if fresh.Annotations[v1alpha1.AnnotationEmptying] != plan.Name { // else it was done, and the view is behind
				annotate(fresh, v1alpha1.AnnotationEmptying, plan.Name)
				closeNode(fresh, m.Mark)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tidy makes the marks of nodes true, whatever made them: a plan that has succeeded has emptied its nodes, the
// marks of a failed or missing plan are undone, and a node with a pod on it is not empty any more. An emptied
// node is open again when it is needed, or its time is over.
func (m *marks) tidy(ctx context.Context) {
	if m.Clock.Now().Before(m.rest) {
		return
	}
	now := truth{plans: map[string]*v1alpha1.ReschedulingPlan{}, needed: m.needed(), now: m.Clock.Now(), closedFor: m.ClosedFor}
	for _, plan := range m.Reservations.Plans() {
		now.plans[plan.Name] = plan
	}
	for node := range m.Cluster.Snapshot().Nodes() {
		edit := now.correction(node)
		if edit == nil {
			continue
		}
		err := m.Client.EditNode(ctx, node.Node, func(fresh *corev1.Node) {
			if sameMarks(fresh, node.Node) { // else the view is behind, and shows later what they are
				edit(fresh)
			}
		})
		if err != nil && !apierrors.IsConflict(err) {
			m.Logger.Warn("cannot correct the marks of a node", "node", node.Name, "err", err)
			m.rest = m.Clock.Now().Add(maxPause)
			return
		}
	}
}

// truth is the state that the marks of nodes are compared with.
type truth struct {
	plans     map[string]*v1alpha1.ReschedulingPlan
	needed    sets.Set[string] // closed nodes, by name
	now       time.Time
	closedFor time.Duration
}

// correction returns the change to the marks of a node that makes them true, nil when they are.
func (t *truth) correction(node *cluster.Node) func(*corev1.Node) {
	emptying, emptied := node.Annotations[v1alpha1.AnnotationEmptying], node.Annotations[v1alpha1.AnnotationEmptied]
	plan := t.plans[emptying]
	switch {
	case plan != nil && !plan.Ended():
		return lostCordon(node.Node)
	case isEmptied(node):
		return t.ofEmptied(node)
	case plan != nil && plan.Status.Phase == v1alpha1.Succeeded && resident(node, nil) == nil:
		if !planner.IsEmpty(node) {
			return lostCordon(node.Node) // until what is there has ended
		}
		return func(fresh *corev1.Node) {
			annotate(fresh, v1alpha1.AnnotationEmptying, "")
			annotate(fresh, v1alpha1.AnnotationEmptied, plan.Name)
			t.limit(fresh)
		}
	case emptying == "" && emptied == "" && !isClosed(node.Node):
		return lostCordon(node.Node)
	}
	return func(fresh *corev1.Node) {
		annotate(fresh, v1alpha1.AnnotationEmptying, "")
		annotate(fresh, v1alpha1.AnnotationEmptied, "")
		openNode(fresh)
	}
}

// ofEmptied is correction for a node that a plan has emptied. It stays closed for a time, and no longer than nobody
// needs it.
func (t *truth) ofEmptied(node *cluster.Node) func(*corev1.Node) {
	until, err := time.Parse(time.RFC3339, node.Annotations[v1alpha1.AnnotationClosedUntil])
	switch {
	case !isClosed(node.Node):
		return lostCordon(node.Node)
	case err != nil:
		return t.limit
	case t.needed.Has(node.Name), !t.now.Before(until):
		return openNode
	}
	return nil
}

// limit has a node say until when it stays closed, if it is.
func (t *truth) limit(node *corev1.Node) {
	until := ""
	if isClosed(node) {
		until = t.now.Add(t.closedFor).UTC().Format(time.RFC3339)
	}
	annotate(node, v1alpha1.AnnotationClosedUntil, until)
}

// isEmptied reports whether a plan has emptied a node, and that it is empty still.
func isEmptied(node *cluster.Node) bool {
	return node.Annotations[v1alpha1.AnnotationEmptying] == "" && node.Annotations[v1alpha1.AnnotationEmptied] != "" && planner.IsEmpty(node)
}

// sameMarks reports whether two states of a node name the same plans.
func sameMarks(a, b *corev1.Node) bool {
	return a.Annotations[v1alpha1.AnnotationEmptying] == b.Annotations[v1alpha1.AnnotationEmptying] &&
		a.Annotations[v1alpha1.AnnotationEmptied] == b.Annotations[v1alpha1.AnnotationEmptied]
}

// newcomer says which pod would be left on a node that a plan empties once the rest of its steps is
// done, from one on; "" when none would.
func (m *marks) newcomer(plan *v1alpha1.ReschedulingPlan, from int) string {
	leaving := sets.New[types.UID]()
	for i := from; i < len(plan.Spec.Steps); i++ {
		leaving.Insert(plan.Spec.Steps[i].Pod.UID)
	}
	for _, name := range plan.Spec.Empties {
		node := m.Cluster.Snapshot().NodeByName(name)
		if node == nil {
			continue
		}
		if pod := resident(node, leaving); pod != nil {
			return fmt.Sprintf("%s would not become empty any more: %s is there", name, pod.FullName())
		}
	}
	return ""
}

// resident returns a pod that stays on a node though others leave it, nil when only pods that go with the node
// stay.
func resident(node *cluster.Node, leaving sets.Set[types.UID]) *cluster.Pod {
	for _, pod := range node.Pods {
		if !planner.GoesWithNode(pod) && pod.DeletionTimestamp == nil && !leaving.Has(pod.UID) {
			return pod
		}
	}
	return nil
}

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

// Unmark takes all marks of plans off a node, as when nobody will ever do so, and reports whether there were any. It leaves alone what
// others did.
func Unmark(node *corev1.Node) bool {
	marked := isClosed(node)
	for name := range node.Annotations {
		marked = marked || strings.HasPrefix(name, v1alpha1.Group+"/")
	}
	openNode(node)
	maps.DeleteFunc(node.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, v1alpha1.Group+"/") })
	return marked
}
