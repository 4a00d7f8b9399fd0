package reservation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// systemCriticalPriority is the priority of system-cluster-critical, the lowest that no user may have.
const systemCriticalPriority = 2_000_000_000

// IsPinnedToNode reports whether a pod is one that a DaemonSet has for one node, and for no other.
func IsPinnedToNode(pod *cluster.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.Kind == "DaemonSet" && predicates.NamesItsNode(pod.Pod)
}

// passes reports whether no plan keeps a pod out: what a node or the cluster needs to work comes before what would be better.
func passes(pod *cluster.Pod) bool {
	return IsPinnedToNode(pod) || corev1helpers.PodPriority(pod.Pod) >= systemCriticalPriority
}

// GiveWay gives up the plans that keep room on a node, if nothing else is in the way there of a pod that no plan keeps
// out. It is for a pod that fits nowhere else, and says whether to look again. Only nodes are looked at that may is
// true for.
func (k *Keeper) GiveWay(pod *cluster.Pod, profile *predicates.Profile, may func(node *cluster.Node) bool) bool {
	if !k.inForce.Load() || !passes(pod) {
		return false
	}
	for range mostLooks {
		snap := k.cluster.Snapshot()
		node := inTheWay(k.nodes(), pod, profile, snap, may)
		if node == nil {
			return false
		}
		why := setback{v1alpha1.ReasonSystemPodCame, fmt.Sprintf(
			"%s/%s, which no plan keeps out, needs the room on %s", pod.Namespace, pod.Name, node.Name,
		)}
		if k.giveUp(node.Name, node, why, func(*reservation) bool { return true }) {
			return true
		}
	}
	return false
}

// inTheWay is the first of some nodes that a pod would fit if plans kept no room there, and does not fit as it is; nil when there is
// none.
func inTheWay(
	names []string, pod *cluster.Pod, profile *predicates.Profile, snap *cluster.Snapshot, may func(node *cluster.Node) bool,
) *cluster.Node {
	judge := scenario.New(snap).Judge(profile.Judge(pod, snap))
	for _, name := range names {
		node := snap.NodeByName(name)
		if node == nil || !may(node) || judge.Fits(node.Index) {
			continue
		}
		if judge.FitsIn(node.Without(func(other *cluster.Pod) bool { return other.Placeholder })) {
			return node
		}
	}
	return nil
}

// nodes returns the nodes that plans keep room on, by name.
func (k *Keeper) nodes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := sets.New[string]()
	for _, r := range k.reservations {
		if r.taker == "" {
			names.Insert(r.node)
		}
	}
	sorted := names.UnsortedList()
	slices.Sort(sorted)
	return sorted
}
