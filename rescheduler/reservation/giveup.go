package reservation

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// mostLooks is how often it is looked at most what is to be given up for a pod, as nodes change meanwhile.
const mostLooks = 8

// setback is why the room of a plan was given up: the reason and the message of a condition.
type setback struct{ reason, message string }

// keeps says that the room of a plan is to be kept here.
func (k *Keeper) keeps(plan *v1alpha1.ReschedulingPlan, now time.Time) bool {
	_, gaveUp := k.setbacks[plan.UID]
	return plan.Reserves(now) && !gaveUp && plan.GivenUp() == ""
}

// settle gives up the plans that keep room for a pod which came in the place of one of another kind, and which
// the room does not do for. The scheduler may put it anywhere then: the rest of such a plan is not carried
// out, and so what it keeps for others, on the node that was left too, is of no use. What a
// stranger is said to be does not count.
func (k *Keeper) settle(pod *cluster.Pod, profile *predicates.Profile) {
	for range mostLooks {
		if k.cluster.PendingPod(pod.UID) != pod || !k.giveUpOne(pod, profile) {
			return
		}
	}
}

// giveUpOne gives up one plan, or has it looked again as its node has changed since it was judged. It
// returns false when there is nothing to give up.
func (k *Keeper) giveUpOne(pod *cluster.Pod, profile *predicates.Profile) (again bool) {
	k.mu.Lock()
	places := k.places(pod, profile)
	k.mu.Unlock()
	for i := range places {
		place := &places[i]
		if !place.differs {
			continue
		}
		snap := k.cluster.Snapshot()
		if place.willSuit(pod, profile, snap) {
			continue
		}
		k.giveUp(place, snap.NodeByName(place.Node), setback{v1alpha1.ReasonReplacementDiffers, fmt.Sprintf(
			"%s/%s, which came in the place of another pod, differs from it, and does not fit the room on %s", pod.Namespace, pod.Name, place.Node,
		)})
		return true
	}
	return false
}

// giveUp ends what a plan keeps, provided that the node of a place is as it was judged and that nobody has taken the place.
func (k *Keeper) giveUp(place *Place, judged *cluster.Node, why setback) {
	k.mu.Lock()
	r := k.reservations[place.placeholder]
	ends := r != nil && r.taker == "" && k.cluster.Snapshot().NodeByName(place.Node) == judged
	if ends {
		k.setbacks[r.plan] = why
		k.refresh()
	}
	k.mu.Unlock()
	if ends {
		k.log.Info("the room of a plan is given up", "plan", string(r.plan), "reason", why.message)
		k.tell()
	}
}

// setbackOf is why the room of a plan was given up here.
func (k *Keeper) setbackOf(plan types.UID) (why setback, gaveUp bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	why, gaveUp = k.setbacks[plan]
	return why, gaveUp
}
