package reservation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// isFor reports whether a pod is one that the reservation is for, or another one of its kind.
func (r *reservation) isFor(pod *cluster.Pod, profile *predicates.Profile) bool {
	if r.of != nil {
		return r.isHeldFor(pod)
	}
	if r.beneficiary != "" {
		return r.beneficiary == pod.UID
	}
	return r.isCalled(pod) && isOfKind(pod, r.controller, r.pod, profile)
}

// isReplacedBy reports whether a pod of any kind has come in the place of the one that leaves: it has the same
// controller, and was not there before.
func (r *reservation) isReplacedBy(pod *cluster.Pod) bool {
	return r.open && r.of == nil && r.beneficiary == "" && r.isCalled(pod) && pod.UID != r.leaves && pod.Namespace == r.pod.Namespace &&
		isControlledBy(pod, r.controller) && !r.siblings.Has(pod.UID) && !r.earlier.Has(pod.UID)
}

func (r *reservation) isCalled(pod *cluster.Pod) bool { return r.called == "" || r.called == pod.Name }

// isOfKind reports whether a pod has that controller, and that no plugin of the profile can tell it from an example.
func isOfKind(pod *cluster.Pod, controller types.UID, example *cluster.Pod, profile *predicates.Profile) bool {
	return isControlledBy(pod, controller) && pod.Namespace == example.Namespace &&
		profile.AloneAs(claimless(unplaced(pod))) == profile.AloneAs(claimless(example))
}

// claimless returns a pod as if it had no claims: a claim that was made for one pod, and is allocated or not,
// does not tell its kind.
func claimless(pod *cluster.Pod) *cluster.Pod {
	if len(pod.Claims) == 0 && pod.ClaimProblem == "" {
		return pod
	}
	next := *pod
	next.Claims, next.ClaimProblem = nil, ""
	return &next
}

// isControlledBy is false for most pods: nothing is derived for them.
func isControlledBy(pod *cluster.Pod, controller types.UID) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.UID == controller
}

// unplaced returns a pod as it was before it had a node.
func unplaced(pod *cluster.Pod) *cluster.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	object := *pod.Pod
	object.Spec.NodeName = ""
	before := *pod
	before.Pod = &object
	return &before
}

// leavesAs reports whether a pod is of the kind of the one that a step moves.
func leavesAs(pod *cluster.Pod, step *v1alpha1.Step, profile *predicates.Profile) bool {
	return pod.UID != step.Pod.UID && isControlledBy(pod, step.Controller.UID) &&
		isOfKind(pod, step.Controller.UID, cluster.NewPod(step.Object()), profile)
}

// MayReplace reports whether a pod of any kind may be the one that came, or comes, in the place of the pod that a
// step moves: it is another pod of the same controller, and has the name that the controller gives the replacement.
func MayReplace(pod *cluster.Pod, step *v1alpha1.Step) bool {
	name := step.KeepsName()
	return !pod.Placeholder && pod.UID != step.Pod.UID && pod.Namespace == step.Pod.Namespace && (name == "" || name == pod.Name) &&
		isControlledBy(pod, step.Controller.UID)
}

// IsReplacement reports whether a pod may replace the one that a step moves, and that no plugin of the profile can tell it apart.
func IsReplacement(pod *cluster.Pod, step *v1alpha1.Step, profile *predicates.Profile) bool {
	return MayReplace(pod, step) && leavesAs(pod, step, profile)
}

// goOn has a reservation go on from what was known of it. When the pod may come now, pods of its controller
// that are on the node already are not it. Which pod was there first follows from the order of events here, and
// from no clock: an API server's clock dates the pod's creation, another machine's the eviction.
func (k *Keeper) goOn(r, known *reservation) {
	r.taker, r.earlier = known.taker, known.earlier
	if node := k.cluster.Snapshot().NodeByName(r.node); node != nil && r.open && !known.open {
		r.earlier = sets.New[types.UID]()
		for _, pod := range node.Pods {
			r.earlier.Insert(pod.UID)
		}
	}
}

// presentTaker returns the pod that has come to the place and is still there.
func (k *Keeper) presentTaker(r *reservation) types.UID {
	taker := r.taker
	if r.beneficiary != "" {
		taker = r.beneficiary // wherever it has gone, it needs this place no more
	}
	if r.siblings.Has(taker) {
		return "" // it came before the pod was evicted, with room of its own
	}
	if at := k.cluster.PlaceOf(taker); at == r.node || at != "" && r.beneficiary != "" {
		return taker
	}
	return ""
}

// adopt finds who came to the place of a replacement while this process was not there, or
// together with others of a gang, beside pods that have taken other places.
func (k *Keeper) adopt(r *reservation, taken sets.Set[types.UID]) {
	node := k.cluster.Snapshot().NodeByName(r.node)
	if node == nil || r.beneficiary != "" || !r.open {
		return
	}
	for _, pod := range node.Pods {
		store := k.profiles.Of(pod.Spec.SchedulerName)
		if pod.Placeholder || store == nil || pod.UID == r.leaves || taken.Has(pod.UID) || r.siblings.Has(pod.UID) || r.earlier.Has(pod.UID) {
			continue
		}
		if r.isFor(pod, store.Profile) || r.isReplacedBy(pod) {
			r.taker = pod.UID
			taken.Insert(pod.UID)
			return
		}
	}
}

// Spared returns the pods that have taken room of a plan which still waits for them to be ready: nobody may
// evict them, at any priority. There are none for pods that no plan keeps out.
func (k *Keeper) Spared(preemptors ...*cluster.Pod) sets.Set[types.UID] {
	if !k.inForce.Load() || !slices.ContainsFunc(preemptors, func(pod *cluster.Pod) bool { return !Passes(pod) }) {
		return nil
	}
	spared := sets.New[types.UID]()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.reservations {
		if r.taker != "" {
			spared.Insert(r.taker)
		}
	}
	return spared
}
