package extender

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// Reservations are the room that plans of the rescheduler count on, as kept by a [reservation.Keeper].
type Reservations interface {
	// Claim returns the plans' decision about a pod that the scheduler asks about.
	Claim(pod *cluster.Pod, profile *predicates.Profile) reservation.Claim
	// LeftBy are the nodes that plans keep a pod away from.
	LeftBy(pod *cluster.Pod) sets.Set[string]
	// GiveWay gives up what plans keep on a node for a pod that no plan keeps out, and says whether to look again.
	GiveWay(pod *cluster.Pod, profile *predicates.Profile, may func(node *cluster.Node) bool) bool
	// Take makes a pod count on the place that was kept for it, as it was judged.
	Take(place *reservation.Place, pod *cluster.Pod, on cluster.Basis) error
	// Spared are the pods that no eviction for a pod may take, as plans count on them.
	Spared(preemptors ...*cluster.Pod) sets.Set[types.UID]
	// Pass returns once the lock was free.
	Pass()
}

// reserved claims the pods that plans of the rescheduler keep room for.
type reserved struct {
	picker       *picker
	reservations Reservations
}

// claim answers with the first of the places kept for the pod that is among the candidates and that
// it fits, and has the pod count there. Else it advises which nodes plans keep the pod away from.
func (r *reserved) claim(q *request, m *memory, given advice) (claim, error) {
	kept := r.reservations.Claim(q.pod, q.store.Profile)
	given.left = kept.Left
	if len(kept.Places) == 0 {
		return leave(given), nil
	}
	r.picker.cluster.Release(q.pod.UID) // the room is kept for it anyway
	for i := range kept.Places {
		if found, ok := r.take(q, &kept.Places[i]); ok {
			return decide(r.picker.offer(q, m, &found)), nil
		}
	}
	return leave(given), q.ctx.Err()
}

// take has the pod of a request count on a place, and returns the candidate that this is. It says false if that will not
// do, as the ordinary way will say.
func (r *reserved) take(q *request, place *reservation.Place) (found candidate, ok bool) {
	for pod := q.pod; q.ctx.Err() == nil; pod = latest(pod, r.picker.cluster) {
		snap := r.picker.cluster.Snapshot()
		node := snap.NodeByName(place.Node)
		if node == nil {
			return candidate{}, false
		}
		at := slices.Index(q.nodes.in(snap).indexes, node.Index)
		if at < 0 {
			return candidate{}, false
		}
		on, suits := place.Suits(pod, q.store.Profile, snap)
		if !suits {
			return candidate{}, false
		}
		if err := r.reservations.Take(place, pod, on); !errors.Is(err, cluster.ErrNodeChanged) {
			return candidate{at, on, snap}, err == nil
		}
	}
	return candidate{}, false
}

// preempt evicts nobody for a pod that has room coming.
func (r *reserved) preempt(about subject) (evicted victims, decided bool) {
	return victims{}, len(r.reservations.Claim(about.pod, about.store.Profile).Places) > 0
}

// giveWay gives up plans for a pod that none keeps out.
func (r *reserved) giveWay(q *request) bool {
	candidates := q.nodes.in(r.picker.cluster.Snapshot()).indexes
	return r.reservations.GiveWay(q.pod, q.store.Profile, func(node *cluster.Node) bool {
		return slices.Contains(candidates, node.Index)
	})
}

// keepsRoom reports whether a pod does not fit a node, and would if plans held no room there.
func keepsRoom(pod *cluster.Pod, profile *predicates.Profile, node *cluster.Node, snap *cluster.Snapshot) bool {
	free := node.Without(func(pod *cluster.Pod) bool { return pod.Placeholder })
	if free == node {
		return false
	}
	judge := scenario.New(snap).Judge(profile.Judge(pod, snap))
	return !judge.Fits(node.Index) && judge.FitsIn(free)
}
