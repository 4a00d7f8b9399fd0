package reservation

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// Claim is the decision of plans about a pod. The zero Claim decides nothing.
type Claim struct {
	// Places are where room is kept for it, the one first that it should take.
	Places []Place
	// Left are the nodes that pods of its kind leave, and nodes that are booked for others.
	Left sets.Set[string]
}

// Place is room that is kept for a pod.
type Place struct {
	Node        string
	placeholder types.UID
	// differs says that the pod is of another kind than the one that is replaced.
	differs bool
	leaves  types.UID // the pod that is replaced, "" of a beneficiary
	// own are the placeholders of the same plan that come after it: they are not in its way.
	own sets.Set[types.UID]
}

// Claim returns the decision of plans about a pod that the scheduler asks about. Room that an earlier call took
// for the pod is kept for it. A plan decides nothing any more if its room is too small, as the pod differs from
// the pod that it replaces.
func (k *Keeper) Claim(pod *cluster.Pod, profile *predicates.Profile) Claim {
	booked := k.bookedFor(pod)
	if !k.inForce.Load() {
		return Claim{Left: booked}
	}
	k.settle(pod, profile)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.giveBack(pod.UID)
	return Claim{Places: k.places(pod, profile), Left: booked.Union(k.left(pod, profile))}
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
	differs := sets.New[*reservation]()
	for _, r := range k.reservations {
		switch {
		case !r.open || r.taker != "":
		case r.isFor(pod, profile):
			fitting = append(fitting, r)
		case r.isReplacedBy(pod):
			fitting = append(fitting, r)
			differs.Insert(r)
		}
	}
	slices.SortFunc(fitting, func(a, b *reservation) int { return cmp.Or(cmp.Compare(a.plan, b.plan), cmp.Compare(a.turn, b.turn)) })
	var places []Place
	for _, r := range fitting {
		place := Place{Node: r.node, placeholder: r.pod.UID, own: sets.New(r.pod.UID), differs: differs.Has(r), leaves: r.leaves}
		if r.beneficiary == "" && r.of == nil {
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

// left returns the nodes that pods of a kind leave, by all plans that are carried out.
func (k *Keeper) left(pod *cluster.Pod, profile *predicates.Profile) sets.Set[string] {
	left, now := sets.New[string](), k.clock.Now()
	for _, plan := range k.plans {
		for i := range plan.Spec.Steps {
			step := &plan.Spec.Steps[i]
			if k.keeps(plan, now) && (leavesAs(pod, step, profile) || hasCome(pod, plan.UID, i, k.reservations)) {
				left.Insert(step.From)
			}
		}
	}
	return left
}

// hasCome reports whether a pod has come in the place of the one that a step of a plan moves.
func hasCome(pod *cluster.Pod, plan types.UID, step int, reservations map[types.UID]*reservation) bool {
	for _, r := range reservations {
		if r.plan == plan && r.beneficiary == "" && r.turn == step {
			return r.isReplacedBy(pod)
		}
	}
	return false
}

// Left implements [muster.dev/muster/gang.Reservations].
func (k *Keeper) Left(pods []*cluster.Pod) sets.Set[string] {
	left := k.LeftByPlans(pods)
	if k.booked.Load() == nil {
		return left
	}
	byStore := map[*predicates.VerdictStore][]*cluster.Pod{}
	for _, pod := range pods {
		if store := k.profiles.Of(pod.Spec.SchedulerName); store != nil {
			byStore[store] = append(byStore[store], pod)
		}
	}
	for store, alike := range byStore {
		left = left.Union(k.leftTo(alike, store))
	}
	return left
}

// LeftByPlans implements [muster.dev/muster/gang.Reservations].
func (k *Keeper) LeftByPlans(pods []*cluster.Pod) sets.Set[string] {
	if !k.inForce.Load() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	left := sets.New[string]()
	for _, pod := range pods {
		if store := k.profiles.Of(pod.Spec.SchedulerName); store != nil {
			left = left.Union(k.left(pod, store.Profile))
		}
	}
	return left
}

// bookedFor returns the nodes that what is booked keeps a pod away from.
func (k *Keeper) bookedFor(pod *cluster.Pod) sets.Set[string] {
	store := k.profiles.Of(pod.Spec.SchedulerName)
	if store == nil || k.booked.Load() == nil {
		return nil
	}
	return k.leftTo([]*cluster.Pod{pod}, store)
}

// LeftBy returns the nodes that plans, and what is booked, keep one pod away from.
func (k *Keeper) LeftBy(pod *cluster.Pod) sets.Set[string] {
	booked := k.bookedFor(pod)
	store := k.profiles.Of(pod.Spec.SchedulerName)
	if store == nil || !k.inForce.Load() {
		return booked
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return booked.Union(k.left(pod, store.Profile))
}

// Concerns reports whether room is kept for a pod, or may soon be.
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
		if r.beneficiary == pod.UID || r.controller != "" && r.controller == controller || r.of != nil && r.isHeldFor(pod) {
			return true
		}
	}
	return false
}

// Suits reports whether a pod fits the place's node once room reserved for it, and for later pods, is not
// counted; and on what it was judged.
func (p *Place) Suits(pod *cluster.Pod, profile *predicates.Profile, snap *cluster.Snapshot) (on cluster.Basis, suits bool) {
	return p.judge(pod, profile, snap, func(other *cluster.Pod) bool { return other.Placeholder && p.own.Has(other.UID) })
}

// willSuit is Suits for the time when the pod that is replaced is gone as well.
func (p *Place) willSuit(pod *cluster.Pod, profile *predicates.Profile, snap *cluster.Snapshot) bool {
	_, suits := p.judge(pod, profile, snap, func(other *cluster.Pod) bool {
		return other.Placeholder && p.own.Has(other.UID) || other.UID == p.leaves
	})
	return suits
}

func (p *Place) judge(
	pod *cluster.Pod, profile *predicates.Profile, snap *cluster.Snapshot, uncounted func(*cluster.Pod) bool,
) (on cluster.Basis, suits bool) {
	node := snap.NodeByName(p.Node)
	if node == nil {
		return cluster.Basis{}, false
	}
	world := scenario.New(snap)
	for other := range snap.Nodes() {
		for _, present := range other.Pods {
			if uncounted(present) {
				world.Take(present, other.Index)
			}
		}
	}
	judge := world.Judge(profile.Judge(pod, snap))
	return judge.Judgement().Basis(node, snap.Generation), judge.Fits(node.Index)
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
