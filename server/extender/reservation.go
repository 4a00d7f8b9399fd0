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
// it fits, and has the pod count there.
func (r *reserved) claim(c *call) (answered bool, err error) {
	places := r.places(c)
	if len(places) == 0 {
		return false, nil
	}
	r.picker.cluster.Release(c.subject.pod.UID) // the room is kept for it anyway
	for i := range places {
		for c.ctx.Err() == nil {
			snap := r.picker.cluster.Snapshot()
			node := snap.NodeByName(places[i].Node)
			if node == nil {
				break
			}
			at := slices.Index(c.candidates.in(snap), node.Index)
			if at < 0 {
				break
			}
			on, suits := places[i].Suits(c.subject.pod, c.store.Profile, snap)
			if !suits {
				break
			}
			err := r.reservations.Take(&places[i], c.subject.pod, on)
			if err == nil {
				r.picker.offer(c, candidate{at, on, snap})
				return true, nil
			}
			if !errors.Is(err, cluster.ErrNodeChanged) {
				break // as the ordinary way will say
			}
			c.lookAgain(r.picker.cluster)
		}
	}
	return false, c.ctx.Err()
}

// preempt evicts nobody for a pod that has room coming.
func (r *reserved) preempt(c *call) (evicted victims, decided bool) {
	return victims{}, len(r.places(c)) > 0
}

// planned is false: the pod of a call has to leave the room to the pods that it is kept for.
func (r *reserved) planned(types.UID) bool { return false }

// giveWay gives up plans for a pod that none keeps out.
func (r *reserved) giveWay(c *call) bool {
	candidates := c.candidates.in(r.picker.cluster.Snapshot())
	return r.reservations.GiveWay(c.subject.pod, c.store.Profile, func(node *cluster.Node) bool {
		return slices.Contains(candidates, node.Index)
	})
}

// places notes in the call which nodes plans keep its pod away from, and returns where they keep room
// for it.
func (r *reserved) places(c *call) []reservation.Place {
	claim := r.reservations.Claim(c.subject.pod, c.store.Profile)
	r.picker.avoid(c, claim.Left)
	return claim.Places
}

// avoid notes in the call which nodes plans keep its pod away from.
func (r *reserved) avoid(c *call) { r.picker.avoid(c, r.reservations.LeftBy(c.subject.pod)) }

// keepsRoom reports whether the pod of the call does not fit a node, and would if plans held no room there.
func keepsRoom(c *call, node *cluster.Node, snap *cluster.Snapshot) bool {
	free := node.Without(func(pod *cluster.Pod) bool { return pod.Placeholder })
	if free == node {
		return false
	}
	judge := scenario.New(snap).Judge(c.store.Profile.Judge(c.subject.pod, snap))
	return !judge.Fits(node.Index) && judge.FitsIn(free)
}
