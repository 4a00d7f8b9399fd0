package nomination

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Reservations know of room that somebody keeps for pods. They are safe for concurrent use, and may be asked with the lock
// of a Nominator held.
type Reservations interface {
	// Concerns reports whether room is kept for a pod, or may soon be.
	Concerns(pod *cluster.Pod) bool
	// Take has a pod count on the place that is kept for it, and returns its node; "" when there is none that it fits.
	Take(pod *cluster.Pod, profile *predicates.Profile) (node string)
	// LeftBy are the nodes that a pod is kept away from.
	LeftBy(pod *cluster.Pod) sets.Set[string]
	// Blocks reports whether kube-scheduler does not know yet that the room is taken by the pod.
	Blocks(pod types.UID) bool
}

// takeKept has pods of a batch take the places that are kept for them, and returns the others.
func (n *Nominator) takeKept(batch []*nominee) (others []*nominee) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range batch {
		if !n.course.takesKept(p) {
			others = append(others, p)
		}
	}
	return others
}

func (c *course) takesKept(p *nominee) bool {
	if !c.reservations.Concerns(p.decided) || c.nominees[p.decided.UID] != p || p.stage != planning || p.pod != p.decided {
		return false
	}
	node := c.reservations.Take(p.decided, p.store.Profile)
	if node == "" {
		return false
	}
	p.node, p.open = node, true
	c.hasPlace(p)
	c.enter(p, held)
	c.post(p)
	return true
}

// noReservations stands for a Keeper where none keeps room.
type noReservations struct{}

func (noReservations) Concerns(*cluster.Pod) bool { return false }

func (noReservations) Take(*cluster.Pod, *predicates.Profile) string { return "" }

func (noReservations) LeftBy(*cluster.Pod) sets.Set[string] { return nil }

func (noReservations) Blocks(types.UID) bool { return false }
