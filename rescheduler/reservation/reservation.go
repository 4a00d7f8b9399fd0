package reservation

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// reservation is room on a node for one pod.
type reservation struct {
	plan types.UID
	pod  *cluster.Pod // the placeholder
	node string
	turn int // of its kind within the plan

	// One of the two is "".
	controller  types.UID // of the replacement that it is for
	beneficiary types.UID // the pod that it is for

	leaves types.UID // the pod that makes room for itself elsewhere, of a replacement
	since  time.Time // when it was evicted, zero before
	// open says that the pod may come: what it replaces is being evicted.
	open bool
	// taker is who has come, "" for nobody.
	taker types.UID
}

// want adds the reservations of a plan.
func (k *Keeper) want(plan *v1alpha1.ReschedulingPlan, wanted map[types.UID]*reservation) {
	for i := range plan.Spec.Steps {
		step, phase := &plan.Spec.Steps[i], plan.Step(i).Phase
		if phase == v1alpha1.StepMoved {
			continue
		}
		r := &reservation{
			plan: plan.UID, node: step.To, turn: i, controller: step.Controller.UID,
			open: phase == v1alpha1.StepEvicting || phase == v1alpha1.StepEvicted, leaves: step.Pod.UID,
		}
		if evicted := plan.Step(i).Evicted; evicted != nil {
			r.since = evicted.Time
		}
		k.add(r, fmt.Sprintf("%sstep-%d", prefix(plan), i), step.Object(), wanted)
	}
	for i := range plan.Spec.Beneficiaries {
		b := &plan.Spec.Beneficiaries[i]
		if pod := k.cluster.PendingPod(b.UID); pod != nil {
			r := &reservation{plan: plan.UID, node: b.Node, turn: i, beneficiary: b.UID, open: true}
			k.add(r, fmt.Sprintf("%sfor-%s", prefix(plan), b.UID), pod.Pod, wanted)
		}
	}
}

// add makes the placeholder, or finds it. What is read of a step makes a pod that is equal
// to the one before.
func (k *Keeper) add(r *reservation, uid string, object *corev1.Pod, wanted map[types.UID]*reservation) {
	if known := k.reservations[types.UID(uid)]; known != nil {
		r.pod = known.pod
	} else {
		placeholder := *object
		placeholder.UID, placeholder.Name = types.UID(uid), uid
		placeholder.Spec.NodeName, placeholder.Status = "", corev1.PodStatus{}
		r.pod = cluster.NewPod(&placeholder)
	}
	wanted[types.UID(uid)] = r
}

// presentTaker is who has come to the place and is still there.
func (k *Keeper) presentTaker(r *reservation) types.UID {
	taker := r.taker
	if r.beneficiary != "" {
		taker = r.beneficiary // wherever it has gone, it needs this place no more
	}
	if at := k.cluster.PlaceOf(taker); at == r.node || at != "" && r.beneficiary != "" {
		return taker
	}
	return ""
}

// adopt finds who came to the place of a replacement while this process was not there, or
// together with others of a gang.
func (k *Keeper) adopt(r *reservation, others map[types.UID]*reservation) {
	node := k.cluster.Snapshot().NodeByName(r.node)
	if node == nil || r.since.IsZero() {
		return
	}
	for _, pod := range node.Pods {
		store := k.profiles.Of(pod.Spec.SchedulerName)
		if pod.Placeholder || pod.UID == r.leaves || store == nil || pod.CreationTimestamp.Time.Before(r.since.Truncate(time.Second)) ||
			!r.isFor(pod, store.Profile) {
			continue
		}
		taken := false
		for _, other := range others {
			taken = taken || other.taker == pod.UID
		}
		if !taken {
			r.taker = pod.UID
			return
		}
	}
}

// Reserved implements [muster.dev/muster/gang.Reservations].
func (k *Keeper) Reserved(pods []*cluster.Pod) (placeholders sets.Set[types.UID]) {
	placeholders = sets.New[types.UID]()
	if !k.inForce.Load() {
		return placeholders
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range pods {
		store := k.profiles.Of(pod.Spec.SchedulerName)
		for uid, r := range k.reservations {
			if store != nil && r.open && r.isFor(pod, store.Profile) {
				placeholders.Insert(uid)
			}
		}
	}
	return placeholders
}

// isFor says that a pod is one that the reservation is for, or another one of its kind.
func (r *reservation) isFor(pod *cluster.Pod, profile *predicates.Profile) bool {
	if r.beneficiary != "" {
		return r.beneficiary == pod.UID
	}
	return isReplacement(pod, r.controller, r.pod, profile)
}

func isReplacement(pod *cluster.Pod, controller types.UID, example *cluster.Pod, profile *predicates.Profile) bool {
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	return owner != nil && owner.UID == controller && pod.Namespace == example.Namespace &&
		profile.AloneAs(unplaced(pod)) == profile.AloneAs(example)
}

// unplaced is a pod as it was before it had a node.
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

// IsReplacement says that a pod is what came, or may come, in the place of the one that a step
// moves: it has the same controller, and no plugin of the profile can tell it apart.
func IsReplacement(pod *cluster.Pod, step *v1alpha1.Step, profile *predicates.Profile) bool {
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner == nil || owner.UID != step.Controller.UID {
		return false // most pods: nothing is derived for them
	}
	return pod.UID != step.Pod.UID && isReplacement(pod, step.Controller.UID, cluster.NewPod(step.Object()), profile)
}

// IsOf says that a pod is a placeholder of a plan.
func IsOf(pod *cluster.Pod, plan *v1alpha1.ReschedulingPlan) bool {
	return pod.Placeholder && strings.HasPrefix(string(pod.UID), prefix(plan))
}

// prefix is how the UIDs of the placeholders of a plan begin.
func prefix(plan *v1alpha1.ReschedulingPlan) string { return "reservation/" + string(plan.UID) + "/" }
