package membership

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Kind is the kind of reason that keeps a group from starting.
type Kind int

// The kinds of hindrances.
const (
	// NoGroup is that nobody says what is asked of the group.
	NoGroup Kind = iota + 1
	// Invalid is that what is asked of it is not valid, or not what the groups say that it starts together with.
	Invalid
	// NoSibling says that a group with which it starts together has no member.
	NoSibling
	// Later is that enough others of its tree of groups start before it.
	Later
)

// Hindrance is why a group cannot start, whatever the nodes.
type Hindrance struct {
	Kind Kind
	Why  string // in words
}

// Unasked says why it is not known what is asked of a group, nil when it is known. The spec is nil for a group
// without an object whose members say nothing.
func Unasked(key Key, spec *Spec) *Hindrance {
	switch {
	case spec == nil && strings.HasPrefix(key.Name, unseen):
		return &Hindrance{NoGroup, fmt.Sprintf("pod %s: its %s has not been seen yet", strings.TrimPrefix(key.Name, unseen), key.Label)}
	case spec == nil:
		return &Hindrance{NoGroup, fmt.Sprintf(
			"there is no PodGroup %s in namespace %s, and no member says %s", key.Name, key.Namespace, v1alpha1.AnnotationMinMember)}
	case spec.Err != nil:
		return &Hindrance{Invalid, spec.Err.Error()}
	default:
		return nil
	}
}

// Siblings returns the groups that start together with one: several for a gang of several roles (muster.dev/groups,
// and Koordinator's gang.scheduling.koordinator.sh/groups). There is a hindrance when one of them is not there
// or asks for nonsense, or does not say that it starts together with the same groups: they share their fate, so
// that all must know of it. And a user who may write in a namespace must not decide that for a group of another
// one.
//
// Asked says what is asked of a group that has members, nil when it has none, or why that is not known.
func (s *Spec) Siblings(key Key, asked func(Key) (*Spec, *Hindrance)) (siblings []Key, not *Hindrance) {
	for _, name := range s.Policy.Groups {
		if name == key.NamespacedName {
			continue
		}
		other := Key{Label: key.Label, NamespacedName: name}
		theirs, not := asked(other)
		switch {
		case not != nil:
			return nil, &Hindrance{not.Kind, fmt.Sprintf("%s, with which it starts together: %s", name, not.Why)}
		case theirs == nil:
			return nil, &Hindrance{NoSibling, waitsFor(name)}
		}
		if why := s.Disagreement(key, theirs, other); why != "" {
			return nil, &Hindrance{Invalid, why}
		}
		siblings = append(siblings, other)
	}
	return siblings, nil
}

func waitsFor(name types.NamespacedName) string {
	return fmt.Sprintf("waiting for members of %s, with which it starts together, to be created", name)
}
