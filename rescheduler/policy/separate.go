package policy

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// separate moves pods that are annotated to be separated from another pod or from a node, as
// long as they are together. A pod goes to no node with a pod of the other one's controller:
// these are like it.
func separate(s Situation) (*planner.Plan, string) {
	var wishes []planner.Wish
	var wrong []planner.Refusal
	for node := range s.Problem.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			from, asked, err := v1alpha1.SeparationOf(pod.Annotations)
			switch {
			case err != nil:
				wrong = append(wrong, planner.Refusal{Name: pod.FullName(), Reason: err.Error()})
			case asked && from.Node == node.Name:
				wishes = append(wishes, planner.Wish{Pod: pod, Why: because("is to leave "+node.Name, from.Why)})
			case asked:
				if other := named(node, from.Pod); other != nil && other.UID != pod.UID {
					wishes = append(wishes, apart(pod, other, from.Why))
				}
			}
		}
	}
	plan, why := relocate(s, wishes, "are to be separated")
	if len(wrong) == 0 {
		return plan, why
	}
	if plan == nil {
		plan = &planner.Plan{Generation: s.Problem.Snapshot.Generation}
	}
	plan.Unmoved = append(plan.Unmoved, wrong...)
	if len(wishes) == 0 {
		why = "no request makes sense; of " + first(wrong)
	}
	return plan, why
}

// apart wishes that a pod leaves the node of another one.
func apart(pod, other *cluster.Pod, why string) planner.Wish {
	owner := metav1.GetControllerOf(other.Pod)
	return planner.Wish{
		Pod: pod, Why: because("is to be separated from "+other.FullName(), why),
		While: func(at planner.Place) bool {
			return slices.ContainsFunc(at.Node.Pods, func(p *cluster.Pod) bool { return p.UID == other.UID })
		},
		To: func(node *cluster.Node) bool {
			return !slices.ContainsFunc(node.Pods, func(p *cluster.Pod) bool {
				return p.UID == other.UID || owner != nil && isOf(p, owner.UID) && p.UID != pod.UID
			})
		},
	}
}

func isOf(pod *cluster.Pod, controller types.UID) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.UID == controller
}

// named returns the pod of a name on a node, nil when it is not there or about to go.
func named(node *cluster.Node, name types.NamespacedName) *cluster.Pod {
	for _, pod := range node.Pods {
		if pod.Namespace == name.Namespace && pod.Name == name.Name && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	return nil
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return fmt.Sprintf("%s: %s", what, why)
}
