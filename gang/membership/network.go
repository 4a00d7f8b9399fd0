package membership

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

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

// Levels returns the levels that the group names: its own, or else the ones of the innermost domain that it shares.
func (s *Spec) Levels() []string {
	if own := s.Policy.Topology.Levels; len(own) > 0 || len(s.Within) == 0 {
		return own
	}
	return s.Within[len(s.Within)-1].Topology.Levels
}

// BindsPlaces reports whether members may go nowhere but as the network is asked for: more than a preference is.
func (s *Spec) BindsPlaces() bool { return s.Policy.Topology.Binds() || s.SharesBinding() }

// SharesBinding reports whether the group has to be in a domain with others: more than a preference is shared.
func (s *Spec) SharesBinding() bool {
	return slices.ContainsFunc(s.Within, func(c Common) bool { return c.Topology.Binds() })
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
	if within, err := commonsOf(pod); err != nil || len(within) > 0 {
		return true
	}
	of := networkOf(pod)
	if len(of) == 0 {
		return false
	}
	policy, err := v1alpha1.DecodePolicy(of)
	return err != nil || policy.Topology.Asks()
}

// Along returns the topology with the levels that an object lists: the Topology of KAI's that it names, or else any that lists its
// levels, if all that do are alike.
func Along(t v1alpha1.Topology, snap *cluster.Snapshot) v1alpha1.Topology {
	var found *v1alpha1.Topology
	for name, object := range snap.Topologies.All() {
		if t.Name != "" && name != TopologyName(&t) {
			continue
		}
		next, lists := t.Along(object.Levels)
		switch {
		case !lists:
		case found == nil:
			found = &next
		case !reflect.DeepEqual(*found, next):
			return t
		}
	}
	if found == nil {
		return t
	}
	return *found
}

// TopologyName returns the name of the object of KAI's that a topology goes by.
func TopologyName(t *v1alpha1.Topology) cluster.TopologyName {
	return cluster.TopologyName{Group: v1alpha1.GroupKAI, Name: t.Name}
}

// DomainOf names the domain of a level that a node is in, by the values of its labels, the uppermost first, with slashes between
// them, or by its own name. It reports false where the node lacks one of the labels.
func DomainOf(t *v1alpha1.Topology, level int, node *cluster.Node) (name string, is bool) {
	var path []string
	for i, key := range t.Levels[:min(level, len(t.Levels))] {
		keys := []string{key}
		if t.Above != nil {
			keys = append(slices.Clone(t.Above[i]), key)
		}
		for _, key := range keys {
			value, has := node.Labels[key]
			if !has {
				return "", false
			}
			path = append(path, value)
		}
	}
	if level > len(t.Levels) {
		return node.Name, true
	}
	return strings.Join(path, "/"), true // no value of a label has one
}
