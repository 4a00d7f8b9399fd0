package membership

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

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

// Common is a domain of the network that several groups share: of the level that is required or preferred. All of them name its key.
type Common struct {
	Key
	Topology v1alpha1.Topology
}

// commonsOf returns the domains that the group of a member shares with others by their owners.
func commonsOf(member *cluster.Pod) (all []Common, err error) {
	belongs := &member.Affiliation
	for _, common := range belongs.Within {
		policy, err := v1alpha1.DecodePolicy(common.Network)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", common.Name, err)
		}
		key := Key{belongs.Kind, types.NamespacedName{Namespace: member.Namespace, Name: common.Name}}
		if policy.Topology.Asks() {
			all = append(all, Common{Key: key, Topology: policy.Topology})
		}
	}
	return all, nil
}

// AsksNetwork reports whether anything is asked of the network, for the group alone or with others.
func (s *Spec) AsksNetwork() bool { return s.Policy.Topology.Asks() || len(s.Within) > 0 }

// BindsPlaces reports whether members may go nowhere but as the network is asked for: more than a preference is.
func (s *Spec) BindsPlaces() bool {
	return s.Policy.Topology.Binds() || slices.ContainsFunc(s.Within, func(c Common) bool { return c.Topology.Binds() })
}

// Shares reports whether the group shares a domain.
func (s *Spec) Shares(domain Key) bool {
	return slices.ContainsFunc(s.Within, func(c Common) bool { return c.Key == domain })
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
	if len(of)+len(pod.Affiliation.Within) == 0 {
		return false
	}
	policy, err := v1alpha1.DecodePolicy(of)
	return err != nil || policy.Topology.Asks() || len(pod.Affiliation.Within) > 0
}
