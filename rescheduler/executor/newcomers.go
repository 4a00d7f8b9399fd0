package executor

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// newcomers tells which pods come in the place of evicted ones, by the pods that were there before.
type newcomers struct {
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	before   map[types.UID]sets.Set[types.UID] // by the pod that was evicted: its controller's pods at that time
}

// replacement returns the pod that came in the place of the pod of a step, nil when none has. It looks at the
// pods of its controller that no other step has and that were not there before. Among them it prefers one of
// the same kind, then the furthest one. A process that was killed knows which pods were there before on the two
// nodes; elsewhere it takes none for the replacement.
func (n *newcomers) replacement(plan *v1alpha1.ReschedulingPlan, at int) *cluster.Pod {
	step := &plan.Spec.Steps[at]
	before, all := n.before[step.Pod.UID]
	taken := sets.New(plan.Step(at).Siblings...).Union(before)
	for i := range plan.Status.Steps {
		if other := plan.Status.Steps[i].Replacement; other != nil {
			taken.Insert(other.UID)
		}
	}
	candidates := slices.DeleteFunc(n.all(step), func(pod *cluster.Pod) bool {
		known := all || pod.Spec.NodeName == "" || pod.Spec.NodeName == step.From || pod.Spec.NodeName == step.To
		return taken.Has(pod.UID) || !known || pod.DeletionTimestamp != nil
	})
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, func(a, b *cluster.Pod) int {
		return cmp.Or(-cmp.Compare(progress(a), progress(b)), n.apart(a, step)-n.apart(b, step), cmp.Compare(a.Name, b.Name))
	})
}

func progress(pod *cluster.Pod) int {
	switch {
	case pod.Ready():
		return 2
	case pod.Spec.NodeName != "":
		return 1
	}
	return 0
}

// mistakable returns the pods that could be taken for the replacement of the pod of a step by a process that
// has not seen them before: pods on the two nodes, and pods without a node that are not of its kind. A waiting
// pod of its kind may have the room as well as the replacement, which then waits in its stead.
func (n *newcomers) mistakable(step *v1alpha1.Step) []types.UID {
	found := map[types.UID]bool{}
	for _, pod := range n.all(step) {
		switch pod.Spec.NodeName {
		case step.From, step.To:
			found[pod.UID] = true
		case "":
			if !n.isAlike(pod, step) {
				found[pod.UID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// all returns the pods that may have come in the place of the pod of a step, with and without a node.
func (n *newcomers) all(step *v1alpha1.Step) (pods []*cluster.Pod) {
	for node := range n.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Spec.NodeName != "" && reservation.MayReplace(pod, step) {
				pods = append(pods, pod)
			}
		}
	}
	for _, pod := range n.cluster.Pending() {
		if reservation.MayReplace(pod, step) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// isAlike reports whether a pod is of the kind of the one of a step.
func (n *newcomers) isAlike(pod *cluster.Pod, step *v1alpha1.Step) bool {
	store := n.profiles.Of(step.Replacement.Spec.SchedulerName)
	return store != nil && reservation.IsReplacement(pod, step, store.Profile)
}

// apart is 1 for a pod that is of another kind than the one of a step, and 0 for one of its kind.
func (n *newcomers) apart(pod *cluster.Pod, step *v1alpha1.Step) int {
	if n.isAlike(pod, step) {
		return 0
	}
	return 1
}
