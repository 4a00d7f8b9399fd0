package reservation

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

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
// together with others of a gang.
func (k *Keeper) adopt(r *reservation, others map[types.UID]*reservation) {
	node := k.cluster.Snapshot().NodeByName(r.node)
	if node == nil || r.beneficiary != "" || !r.open {
		return
	}
	taken := sets.New(r.leaves)
	for _, other := range others {
		taken.Insert(other.taker)
	}
	for _, pod := range node.Pods {
		store := k.profiles.Of(pod.Spec.SchedulerName)
		if pod.Placeholder || store == nil || taken.Has(pod.UID) || r.siblings.Has(pod.UID) || r.earlier.Has(pod.UID) {
			continue
		}
		if r.isFor(pod, store.Profile) || r.isReplacedBy(pod) {
			r.taker = pod.UID
			return
		}
	}
}

// Spared returns the pods that have taken room of a plan which still waits for them to be ready: nobody may
// evict them, at any priority. There are none for pods that no plan keeps out.
func (k *Keeper) Spared(preemptors ...*cluster.Pod) sets.Set[types.UID] {
	if !k.inForce.Load() || !slices.ContainsFunc(preemptors, func(pod *cluster.Pod) bool { return !passes(pod) }) {
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
