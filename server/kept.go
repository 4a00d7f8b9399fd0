package server

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/placeholder"
	"muster.dev/muster/rescheduler/reservation"
)

// kept is the room that plans of the rescheduler keep, for the Nominator.
type kept struct {
	*reservation.Keeper

	cluster      *cluster.Cluster
	placeholders *placeholder.Placeholders
}

// attempts is the number of times that a place is judged again when its node has changed meanwhile.
const attempts = 3

// Take implements [muster.dev/muster/placement/nomination.Reservations].
func (k kept) Take(pod *cluster.Pod, profile *predicates.Profile) (node string) {
	claim := k.Claim(pod, profile)
	for i := range claim.Places {
		place := &claim.Places[i]
		for range attempts {
			on, suits := place.Suits(pod, profile, k.cluster.Snapshot())
			if !suits {
				break
			}
			err := k.Keeper.Take(place, pod, on)
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

// Blocks implements [muster.dev/muster/placement/nomination.Reservations].
func (k kept) Blocks(pod types.UID) bool { return k.placeholders.Blocks(pod) }
