package gang

import (
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
)

// unsettled describes the search for members of one group that do not stay where room is kept for them.
type unsettled struct {
	core.Wanted
	settled int // how many stay
}

// missing returns how many more places there must be.
func (u *unsettled) missing() int { return u.AtLeast - u.settled }

// settle has members stay where their room is kept: on the nodes to which muster has nominated them while they
// are gated, in this process or in a former one. Otherwise they would move, one write after the other, and
// other pods would take the nodes that they leave before all are nominated again. Each way to stay is tried for
// the members that the way before did not settle.
func settle(parts []core.Wanted, ways ...func(*cluster.Pod, string) placement.Place) (places []placement.Place, left []unsettled) {
	for _, part := range parts {
		left = append(left, unsettled{Wanted: part})
	}
	for _, stay := range ways {
		for i := range left {
			u := &left[i]
			var pods []*cluster.Pod
			for _, pod := range u.Pods {
				place := placement.Place{Node: -1}
				if keepsRoom(pod) {
					place = stay(pod, pod.Status.NominatedNodeName)
				}
				if place.Node < 0 {
					pods = append(pods, pod)
					continue
				}
				places = append(places, place)
				u.settled++
			}
			u.Pods = pods
		}
	}
	return places, left
}

// keepsRoom reports whether the scheduler keeps room for a pod as muster has nominated it.
func keepsRoom(pod *cluster.Pod) bool {
	return pod.Status.NominatedNodeName != "" && pod.NominatedBy() == cluster.FieldManager && membership.Gated(pod.Pod)
}
