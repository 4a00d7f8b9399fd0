package policy

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

// repair moves pods off nodes where they would not be placed any more, by predicates, or where others of their
// controller are. Among pods that are in each other's way the less important and the younger ones move.
func repair(c *config.RepairPolicy) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		var wishes []planner.Wish
		checks := sets.New(c.Checks...)
		for _, m := range s.Problem.Misplaced(checks) {
			wishes = append(wishes, planner.Wish{
				Pod: m.Pod, Why: fmt.Sprintf("%s would not take it now: %s", m.Node.Name, m.Objection.Reason),
				While: func(at planner.Place) bool {
					return slices.ContainsFunc(at.Against(), func(o predicates.Objection) bool { return checks.Has(o.Predicate) })
				},
			})
		}
		if c.Duplicates() {
			wishes = append(wishes, duplicates(s.Problem.Snapshot)...)
		}
		slices.SortStableFunc(wishes, func(a, b planner.Wish) int { return byImportance(a.Pod, b.Pod) })
		return relocate(s, wishes, "are where they should not be")
	}
}

// byImportance compares pods by priority, and then by age.
func byImportance(a, b *cluster.Pod) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(a.Pod), corev1helpers.PodPriority(b.Pod)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time), byName(a, b),
	)
}

// duplicates returns wishes for pods that share a node with others of their controller, to nodes without one.
// Pods of gangs are left out: they may want to be together.
func duplicates(snap *cluster.Snapshot) (wishes []planner.Wish) {
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			owner := metav1.GetControllerOfNoCopy(pod.Pod)
			if owner == nil || pod.DeletionTimestamp != nil || !othersOf(owner.UID, node, pod.UID) {
				continue
			}
			if _, member := membership.Of(pod); member || membership.Left(pod) {
				continue
			}
			uid := owner.UID
			wishes = append(wishes, planner.Wish{
				Pod: pod, Why: fmt.Sprintf("%s has more than one pod of %s %s", node.Name, owner.Kind, owner.Name),
				While: func(at planner.Place) bool { return othersOf(uid, at.Node, pod.UID) },
				To:    func(node *cluster.Node) bool { return !othersOf(uid, node, pod.UID) },
			})
		}
	}
	return wishes
}

// othersOf reports whether a node has another pod of a controller.
func othersOf(controller types.UID, node *cluster.Node, than types.UID) bool {
	return slices.ContainsFunc(node.Pods, func(p *cluster.Pod) bool {
		return p.UID != than && p.DeletionTimestamp == nil && isOf(p, controller)
	})
}

func byName(a, b *cluster.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
