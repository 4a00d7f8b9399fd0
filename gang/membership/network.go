package membership

import (
	"iter"
	"maps"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// sharedTopology returns the topology that all members ask for, each by its own annotations or its owner's: roles that ask for more
// are not told apart.
func sharedTopology(first *cluster.Pod, members iter.Seq[*cluster.Pod]) (v1alpha1.Topology, error) {
	shared := networkOf(first)
	for member := range members {
		if len(shared) == 0 {
			break
		}
		other := networkOf(member)
		maps.DeleteFunc(shared, func(name, value string) bool {
			theirs, has := other[name]
			return !has || theirs != value
		})
	}
	policy, err := v1alpha1.DecodePolicy(shared)
	return policy.Topology, err
}

// networkOf returns the annotations about the network that count for a member, for the caller to change.
func networkOf(member *cluster.Pod) map[string]string {
	of := maps.Clone(member.Affiliation.Network)
	for name, value := range v1alpha1.TopologyOf(member.Annotations) {
		if of == nil {
			of = map[string]string{}
		}
		of[name] = value
	}
	return of
}

// AsksTopology reports whether the gang of a pod may ask something of the network: a PodGroup says so, or the pod or its owner.
func AsksTopology(pod *cluster.Pod, snap *cluster.Snapshot) bool {
	key, member := Of(pod)
	if !member {
		return false
	}
	if object := Object(snap, key); object != nil {
		return object.Policy.Topology.Asks()
	}
	of := networkOf(pod)
	if len(of) == 0 {
		return false
	}
	policy, err := v1alpha1.DecodePolicy(of)
	return err != nil || policy.Topology.Asks()
}
