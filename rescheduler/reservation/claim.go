package reservation

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Claim is what plans say of a pod. The zero Claim says nothing.
type Claim struct {
	// Places are where room is kept for it, the one first that it should take.
	Places []Place
	// Left are the nodes that pods of its kind leave.
	Left sets.Set[string]
}

// Place is room that is kept for a pod.
type Place struct {
	Node        string
	placeholder types.UID
	// own are the placeholders of the same plan that come after it: they are not in its way.
	own sets.Set[types.UID]
}

// Claim is what plans say of a pod that the scheduler asks about. What an earlier call took for
// it is kept for it again.
func (k *Keeper) Claim(pod *cluster.Pod, profile *predicates.Profile) Claim {
	if !k.inForce.Load() {
		return Claim{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.giveBack(pod.UID)
	return Claim{Places: k.places(pod, profile), Left: k.left(pod, profile)}
}

// giveBack holds again what a pod had taken, and what others had who do not count there any more.
func (k *Keeper) giveBack(uid types.UID) {
	for _, r := range k.reservations {
		if r.taker == uid || r.taker != "" && k.presentTaker(r) == "" {
			r.taker = ""
			k.cluster.Reserve(r.pod, r.node)
		}
	}
}

func (k *Keeper) places(pod *cluster.Pod, profile *predicates.Profile) []Place {
	var fitting []*reservation
	for _, r := range k.reservations {
		if r.open && r.taker == "" && r.isFor(pod, profile) {
			fitting = append(fitting, r)
		}
	}
	slices.SortFunc(fitting, func(a, b *reservation) int { return cmp.Or(cmp.Compare(a.plan, b.plan), cmp.Compare(a.turn, b.turn)) })
	var places []Place
	for _, r := range fitting {
		place := Place{Node: r.node, placeholder: r.pod.UID, own: sets.New(r.pod.UID)}
		if r.beneficiary == "" {
			// The plan was proven in its order: what it holds for later steps has room once it is
			// their turn. A pending pod comes after all steps.
			for uid, other := range k.reservations {
				if other.plan == r.plan {
					place.own.Insert(uid)
				}
			}
		}
		places = append(places, place)
	}
	return places
}

// left are the nodes that pods of a kind leave, by all plans that are carried out.
func (k *Keeper) left(pod *cluster.Pod, profile *predicates.Profile) sets.Set[string] {
	left, now := sets.New[string](), k.clock.Now()
	owner := metav1.GetControllerOfNoCopy(pod.Pod)
	if owner == nil {
		return left
	}
	for _, plan := range k.plans {
		for i := range plan.Spec.Steps {
			step := &plan.Spec.Steps[i]
			if step.Controller.UID == owner.UID && k.reserves(plan, now) && IsReplacement(pod, step, profile) {
				left.Insert(step.From)
			}
		}
	}
	return left
}

// Left implements [muster.dev/muster/gang.Reservations].
func (k *Keeper) Left(pods []*cluster.Pod) sets.Set[string] {
	if !k.inForce.Load() {
		return nil
	}
	left := sets.New[string]()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range pods {
		if store := k.profiles.Of(pod.Spec.SchedulerName); store != nil {
			left = left.Union(k.left(pod, store.Profile))
		}
	}
	return left
}

// LeftBy are the nodes that plans keep one pod away from.
func (k *Keeper) LeftBy(pod *cluster.Pod) sets.Set[string] {
	if !k.inForce.Load() {
		return nil
	}
	store := k.profiles.Of(pod.Spec.SchedulerName)
	if store == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.left(pod, store.Profile)
}

// Concerns says that room is kept for a pod, or may soon be.
func (k *Keeper) Concerns(pod *cluster.Pod) bool {
	if !k.inForce.Load() {
		return false
	}
	controller := types.UID("")
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil {
		controller = owner.UID
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.reservations {
		if r.beneficiary == pod.UID || r.controller != "" && r.controller == controller {
			return true
		}
	}
	return false
}

// Suits says that a pod fits the place's node once what is reserved for it, and for those who come after it,
// is not counted; and on what it was judged.
func (p *Place) Suits(pod *cluster.Pod, profile *predicates.Profile, snap *cluster.Snapshot) (on cluster.Basis, suits bool) {
	node := snap.NodeByName(p.Node)
	if node == nil {
		return cluster.Basis{}, false
	}
	present := node
	judgement := profile.Judge(pod, snap)
	for other := range snap.Nodes() {
		without := other
		for _, placeholder := range other.Pods {
			if placeholder.Placeholder && p.own.Has(placeholder.UID) {
				without = without.WithoutPod(placeholder.UID)
			}
		}
		if without != other {
			judgement.Suppose(without)
		}
		if other == node {
			node = without
		}
	}
	return judgement.Basis(present, snap.Generation), judgement.Verdict(node) == predicates.Fits
}

// Take makes a pod count on the place that was kept for it, provided that what it was judged on is
// still so: else it returns [cluster.ErrNodeChanged].
func (k *Keeper) Take(place *Place, pod *cluster.Pod, on cluster.Basis) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.cluster.Exchange(place.placeholder, pod, on); err != nil {
		return err
	}
	if r := k.reservations[place.placeholder]; r != nil {
		r.taker = pod.UID
	}
	return nil
}
