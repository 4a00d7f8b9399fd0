package planner

import (
	"cmp"
	"slices"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// Waiting are the pods that somebody is to place, by name: those that kube-scheduler looks at, and
// members of gangs that muster's gate alone keeps from it, maybe until there is a place for them.
func Waiting(c *cluster.Cluster) []*cluster.Pod {
	return slices.DeleteFunc(c.Pending(), func(pod *cluster.Pod) bool {
		return pod.DeletionTimestamp != nil || membership.GatedByOthers(pod.Pod)
	})
}

// Pending makes groups of pending pods: those of a gang are one group, any other pod is one
// for itself. They are in the order of their names. How many of a gang there must be is what
// its PodGroup says, or its pods; members that are on nodes already count. A gang of which too
// few pods are there gets a group that cannot be placed.
func Pending(snap *cluster.Snapshot, pods []*cluster.Pod) []Group {
	var groups []Group
	at := map[membership.Key]int{}
	for _, pod := range pods {
		key, member := membership.Of(pod.Pod)
		if !member {
			groups = append(groups, Group{Name: nameOf(pod), Pods: []*cluster.Pod{pod}, AtLeast: 1})
			continue
		}
		place, known := at[key]
		if !known {
			place = len(groups)
			at[key], groups = place, append(groups, Group{Name: key.String()})
		}
		groups[place].Pods = append(groups[place].Pods, pod)
	}
	bound := boundMembers(snap, at)
	for key, place := range at {
		g := &groups[place]
		g.AtLeast = max(1, minMember(snap, key, g.Pods)-bound[key])
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return groups
}

// minMember is how many members must start together, all that wait when nothing says it.
func minMember(snap *cluster.Snapshot, key membership.Key, pods []*cluster.Pod) int {
	if object := membership.Object(snap, key); object != nil && object.PodGroup != nil {
		return int(object.PodGroup.Spec.MinMember)
	}
	for _, pod := range pods {
		if minMember, err := v1alpha1.DecodeMinMember(pod.Annotations); err == nil && minMember > 0 {
			return int(minMember)
		}
	}
	return len(pods)
}

// boundMembers counts the pods on nodes of groups that have pending ones.
func boundMembers(snap *cluster.Snapshot, wanted map[membership.Key]int) map[membership.Key]int {
	bound := map[membership.Key]int{}
	if len(wanted) == 0 {
		return bound
	}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			key, member := membership.Of(pod.Pod)
			if _, asked := wanted[key]; member && asked {
				bound[key]++
			}
		}
	}
	return bound
}
