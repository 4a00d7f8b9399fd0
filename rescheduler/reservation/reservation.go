package reservation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// reservation is room on a node for one pod.
type reservation struct {
	plan types.UID    // or the holder
	pod  *cluster.Pod // the placeholder
	node string
	turn int // of its kind within the plan

	// One of the three is there.
	controller  types.UID // of the replacement that it is for
	beneficiary types.UID // the pod that it is for
	of          *holding  // the holder of the pods that it is for: one takes it
	set         string    // of these pods

	leaves types.UID // the pod that makes room for itself elsewhere, of a replacement
	called string    // the name of the one pod that it is for, "" when the controller gives new names
	// siblings were there before the eviction, as the plan says, and earlier were on the node when it was seen here
	// that the pod may come: none of them has come in its place.
	siblings, earlier sets.Set[types.UID]
	// open says that the pod may come: what it replaces is being evicted.
	open bool
	// taker is the pod that has come, "" for none.
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
			called: step.KeepsName(), siblings: sets.New(plan.Step(i).Siblings...),
		}
		add(r, fmt.Sprintf("%sstep-%d", prefix(plan), i), step.Object(), k.reservations, wanted)
	}
	for i := range plan.Spec.Beneficiaries {
		b := &plan.Spec.Beneficiaries[i]
		if pod := k.cluster.PendingPod(b.UID); pod != nil {
			r := &reservation{plan: plan.UID, node: b.Node, turn: i, beneficiary: b.UID, open: true}
			add(r, fmt.Sprintf("%sfor-%s", prefix(plan), b.UID), pod.Pod, k.reservations, wanted)
		}
	}
}

// add makes the placeholder, or finds it among the known ones. Reading the same step again makes an equal pod.
func add(r *reservation, uid string, object *corev1.Pod, known, wanted map[types.UID]*reservation) {
	if before := known[types.UID(uid)]; before != nil {
		r.pod = before.pod
	} else {
		placeholder := *object
		placeholder.UID, placeholder.Name = types.UID(uid), uid
		placeholder.Spec.NodeName, placeholder.Status = "", corev1.PodStatus{}
		r.pod = cluster.NewPod(&placeholder)
	}
	wanted[types.UID(uid)] = r
}

// Reserved implements [muster.dev/muster/gang.Reservations].
func (k *Keeper) Reserved(pods []*cluster.Pod) (placeholders sets.Set[types.UID]) {
	placeholders = sets.New[types.UID]()
	if !k.inForce.Load() {
		return placeholders
	}
	for _, pod := range pods {
		if store := k.profiles.Of(pod.Spec.SchedulerName); store != nil {
			k.settle(pod, store.Profile)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, r := range k.reservations {
		if r.open && slices.ContainsFunc(pods, func(pod *cluster.Pod) bool {
			store := k.profiles.Of(pod.Spec.SchedulerName)
			return store != nil && (r.isFor(pod, store.Profile) || r.isReplacedBy(pod))
		}) {
			placeholders.Insert(uid)
		}
	}
	return placeholders
}

// IsOf reports whether a pod is a placeholder of a plan.
func IsOf(pod *cluster.Pod, plan *v1alpha1.ReschedulingPlan) bool {
	return pod.Placeholder && strings.HasPrefix(string(pod.UID), prefix(plan))
}

// prefix returns how the UIDs of the placeholders of a plan begin.
func prefix(plan *v1alpha1.ReschedulingPlan) string { return "reservation/" + string(plan.UID) + "/" }
