package server

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/placeholder"
	"muster.dev/muster/rescheduler/reservation"
)

// kept is the room that plans of the rescheduler keep, for the Nominator.
type kept struct {
	keeper       *reservation.Keeper
	cluster      *cluster.Cluster
	placeholders *placeholder.Placeholders
}

// Concerns implements [muster.dev/muster/placement/nomination.Reservations].
func (k kept) Concerns(pod *cluster.Pod) bool {
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil {
		return k.keeper.Concerns(pod.UID, owner.UID)
	}
	return k.keeper.Concerns(pod.UID, "")
}

// attempts is how often a place is judged anew as its node has changed meanwhile.
const attempts = 3

// Take implements [muster.dev/muster/placement/nomination.Reservations].
func (k kept) Take(pod *cluster.Pod, profile *predicates.Profile) (node string) {
	claim := k.keeper.Claim(pod, profile)
	for i := range claim.Places {
		place := &claim.Places[i]
		for range attempts {
			on, suits := place.Suits(pod, profile, k.cluster.Snapshot())
			if !suits {
				break
			}
			err := k.keeper.Take(place, pod, on)
			if err == nil {
				return place.Node
			}
			if !errors.Is(err, cluster.ErrNodeChanged) {
				break
			}
		}
	}
	return ""
}

// LeftBy implements [muster.dev/muster/placement/nomination.Reservations].
func (k kept) LeftBy(pod *cluster.Pod) sets.Set[string] { return k.keeper.LeftBy(pod) }

// Blocks implements [muster.dev/muster/placement/nomination.Reservations].
func (k kept) Blocks(pod types.UID) bool { return k.placeholders.Blocks(pod) }
