package placeholder

import (
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/reservation"
)

// due returns which rooms are to be told of now, of those that nobody has come to yet, in their order: those that fit a
// node together with the pods that are there, and the first one of each node anyway. So the scheduler does not keep out
// a pod for the sake of one that comes after it, when another pod has gone from there.
func due(rooms []reservation.Room, snap *cluster.Snapshot) (now []reservation.Room) {
	used, ended := map[string]cluster.Resources{}, map[string]bool{}
	for _, r := range rooms {
		node := snap.NodeByName(r.Node)
		if node == nil || ended[r.Node] {
			continue
		}
		before, several := used[r.Node]
		if !several {
			before = taken(node)
		}
		sum := before.Plus(&r.For.Requests)
		sum.Pods = before.Pods + 1
		if several && !within(&sum, &node.Allocatable) {
			ended[r.Node] = true
			continue
		}
		used[r.Node] = sum
		now = append(now, r)
	}
	return now
}

// taken is what the pods of a node ask for, without placeholders. Pods counts them.
func taken(node *cluster.Node) (sum cluster.Resources) {
	for _, pod := range node.Pods {
		if !pod.Placeholder {
			pods := sum.Pods + 1
			sum = sum.Plus(&pod.Requests)
			sum.Pods = pods
		}
	}
	return sum
}

// within reports whether a node offers as much as that.
func within(sum, offer *cluster.Resources) bool {
	for _, s := range sum.Scalars {
		if s.Amount > offer.Scalar(s.Name) {
			return false
		}
	}
	return sum.MilliCPU <= offer.MilliCPU && sum.Memory <= offer.Memory && sum.EphemeralStorage <= offer.EphemeralStorage &&
		sum.Pods <= offer.Pods
}
