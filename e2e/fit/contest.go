package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Left is how many pods like one fit beside each other once rivals have gone where they take the most room from
// them, each to a node that admits it, as the cluster is now. What it tells could happen: a cleverer order of
// the rivals might leave less.
func Left(nodes []*corev1.Node, pods, rivals []*corev1.Pod, like *corev1.Pod) (left int) {
	rooms, wanted := newRooms(nodes, pods), newDemand(like)
	demands := make([]demand, len(rivals))
	for i, p := range rivals {
		demands[i] = newDemand(p)
	}
	slices.SortStableFunc(demands, func(a, b demand) int { return b.requests.Cpu().Cmp(*a.requests.Cpu()) })
	for _, d := range demands {
		if r := worst(rooms, d, wanted); r != nil {
			r.take(d)
		}
	}
	for _, r := range rooms {
		left += r.places(wanted)
	}
	return left
}

// worst is the room where a rival takes the most places from pods, and of those the one where it leaves the least;
// nil when no room admits it.
func worst(rooms []*room, rival, wanted demand) (at *room) {
	most := -1
	for _, r := range rooms {
		if !r.admits(rival) {
			continue
		}
		before := r.places(wanted)
		r.take(rival)
		taken := before - r.places(wanted)
		r.give(rival)
		if taken > most || taken == most && r.free.Cpu().Cmp(*at.free.Cpu()) < 0 {
			most, at = taken, r
		}
	}
	return at
}

// places is how many pods that are alike the room admits beside each other.
func (r *room) places(d demand) (count int) {
	for r.admits(d) {
		r.take(d)
		count++
	}
	for range count {
		r.give(d)
	}
	return count
}
