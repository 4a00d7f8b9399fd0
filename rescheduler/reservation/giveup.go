package reservation

import (
	"fmt"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// mostLooks is how often it is looked at most what is to be given up for a pod, as nodes change meanwhile.
const mostLooks = 8

// setback is why the room of a plan was given up: the reason and the message of a condition.
type setback struct{ reason, message string }

// keeps reports whether the room of a plan is to be kept here.
func (k *Keeper) keeps(plan *v1alpha1.ReschedulingPlan, now time.Time) bool {
	_, gaveUp := k.setbacks[plan.UID]
	reason, _ := plan.GivenUp()
	return k.since.reserves(plan, now) && !gaveUp && reason == ""
}

// settle gives up the plans that keep room for a pod which came in the place of one of another kind, and does
// not fit the room. The scheduler may put it anywhere then: the rest of such a plan is not carried out, and so
// the room that it keeps for others, including the node that was left, is useless. A stranger's description of
// itself does not count.
func (k *Keeper) settle(pod *cluster.Pod, profile *predicates.Profile) {
	if pod.ClaimProblem == cluster.ClaimMissing {
		return // what fits is not known before its claims are made
	}
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
		k.giveUp(place.Node, snap.NodeByName(place.Node), setback{v1alpha1.ReasonReplacementDiffers, fmt.Sprintf(
			"%s/%s, which came in the place of another pod, differs from it, and does not fit the room on %s", pod.Namespace, pod.Name, place.Node,
		)}, func(r *reservation) bool { return r.pod.UID == place.placeholder })
		return true
	}
	return false
}

// giveUp ends the plans of reservations on a node that nobody has taken, provided that the node is as it was judged.
func (k *Keeper) giveUp(on string, judged *cluster.Node, why setback, which func(*reservation) bool) (gaveUp bool) {
	k.mu.Lock()
	if k.cluster.Snapshot().NodeByName(on) == judged {
		for _, r := range k.reservations {
			if r.node == on && r.taker == "" && which(r) {
				k.setbacks[r.plan], gaveUp = why, true
			}
		}
	}
	if gaveUp {
		k.refresh()
	}
	k.mu.Unlock()
	if gaveUp {
		k.log.Info("the room of a plan is given up", "reason", why.message)
		k.tell()
	}
	return gaveUp
}

// standing reports whether the room of a plan is to be kept, and why it was given up here, nil when it was not.
func (k *Keeper) standing(plan *v1alpha1.ReschedulingPlan) (reserving bool, gaveUp *setback) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if why, gave := k.setbacks[plan.UID]; gave {
		gaveUp = &why
	}
	return k.since.reserves(plan, k.clock.Now()), gaveUp
}
