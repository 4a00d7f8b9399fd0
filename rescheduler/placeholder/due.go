package placeholder

import (
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/reservation"
)

// due returns the rooms that kube-scheduler is to know of now, in their order, out of the rooms that nobody has
// come to yet. Room behind that of an earlier step on the same node waits, unless both fit beside the pods that
// are there: it is for a pod that comes after another one has gone, and would keep out the one that comes
// before.
func due(rooms []reservation.Room, snap *cluster.Snapshot) (now []reservation.Room) {
	used, waits, steps := map[string]cluster.Resources{}, map[string]bool{}, map[string]int{}
	for _, r := range rooms {
		node := snap.NodeByName(r.Node)
		if node == nil || waits[r.Node] {
			continue
		}
		if _, known := used[r.Node]; !known {
			used[r.Node] = taken(node)
		}
		if counts(r.Taker, node) {
			now = append(now, r)
			continue
		}
		sum := used[r.Node].Plus(&r.For.Requests)
		sum.Pods = used[r.Node].Pods + 1
		if steps[r.Node] > 0 && !within(&sum, &node.Allocatable) {
			waits[r.Node] = true
			continue
		}
		used[r.Node] = sum
		if now = append(now, r); r.Beneficiary == "" {
			steps[r.Node]++
		}
	}
	return now
}

// counts reports whether a pod is on a node in muster's view.
func counts(uid types.UID, node *cluster.Node) bool {
	return uid != "" && node.Pod(uid) != nil
}

// taken returns the sum of the requests on a node, without placeholders. Pods counts the pods.
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
