package backfill

import (
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// isModest reports whether pods ask for no more than half of what all nodes have together, of each resource: a larger gang keeps
// nobody waiting.
func isModest(places []placement.Place, snap *cluster.Snapshot) bool {
	asked, all := cluster.Resources{}, cluster.Resources{}
	for _, place := range places {
		asked = asked.Plus(&place.Pod.Requests)
	}
	for node := range snap.Nodes() {
		all = all.Plus(&node.Allocatable)
	}
	return within(asked.Plus(&asked), all)
}

// within reports whether what is asked for is no more than what there is, of each resource that is asked for.
func within(asked, all cluster.Resources) bool {
	tooMuch := func(of cluster.Scalar) bool { return of.Amount > all.Scalar(of.Name) }
	return asked.MilliCPU <= all.MilliCPU && asked.Memory <= all.Memory && asked.EphemeralStorage <= all.EphemeralStorage &&
		!slices.ContainsFunc(asked.Scalars, tooMuch)
}

// count adds up for how long nodes had room for pods, by their resources, and kept it for a gang, since it was looked last.
func (b *Booker) count(snap *cluster.Snapshot, now time.Time) {
	since := now.Sub(b.looked)
	if b.looked = now; b.inForce == nil {
		return
	}
	idle := 0
	for name, pods := range b.inForce.Pods {
		node := snap.NodeByName(name)
		if node == nil {
			continue
		}
		taken := node.Requested
		for _, pod := range pods {
			if with := taken.Plus(&pod.Requests); node.Pod(pod.UID) == nil && within(with, node.Allocatable) {
				taken = with
				idle++
			}
		}
	}
	b.idle.WithLabelValues(b.Booked().Key.Namespace).Add(float64(idle) * since.Seconds())
}
