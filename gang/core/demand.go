package core

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// hindrance is why the groups of a bundle cannot start, whatever the nodes.
type hindrance struct {
	refusal string // one of the Reasons
	waiting
}

func (Looked) apply(t *turn) { t.lookAtAll() }

func (e LookedAt) apply(t *turn) {
	if g := t.groupOf[e.UID]; g != nil {
		t.bundle(g)
	}
}

func (t *turn) lookAtAll() {
	for _, g := range t.groups {
		t.look(g)
	}
}

// look takes note of what is asked of a group now: by its PodGroup, else by its members.
func (t *turn) look(g *group) {
	if object := t.view.PodGroup(g.key); object == nil {
		t.hear(g)
	} else if g.spec == nil || g.spec.From != object.Unstructured {
		g.asks(t.limits.Asked(object))
	}
	if not := g.unasked(); not != nil {
		g.waits(not.reason, not.why)
		return
	}
	if g.done.countFor(g.of, g.life()) {
		g.dirty = true
	}
	g.complete()
	remembering{t}.quorum(g)
}

// hear reads what the members of a group without an object say, if they may say something else
// than when it last did. When there is none left, what they said stands.
func (t *turn) hear(g *group) {
	if g.spec != nil && g.spec.From == nil && (g.heard || len(g.members) == 0) {
		return
	}
	g.heard = true
	g.asks(t.limits.Said(func(yield func(*cluster.Pod) bool) {
		for _, p := range g.members {
			if !yield(p.pod) {
				return
			}
		}
	}))
}

// asks notes what is asked of a group now. Something else than before ends its rest.
func (g *group) asks(now *membership.Spec) {
	if g.spec != nil && (now == nil || !now.AsksAsMuchAs(g.spec)) {
		g.tries = g.tries.anew()
	}
	if now != nil && now.From != nil {
		g.belongTo(now.From.GetUID())
	}
	g.spec = now
}

// belongTo notes whose starts a group has. Starts of a former PodGroup of its name do not belong to the present
// one, nor does a record that is being written on the former.
func (g *group) belongTo(uid types.UID) {
	if g.of != "" && g.of != uid {
		g.starts, g.tries, g.looked, g.denied = starts{unsure: g.unsure}, tries{}, 0, time.Time{}
		for _, p := range g.members {
			p.went = false
		}
	}
	g.of = uid
}

// life returns the time before which no pod was created that has finished and counts: zero for a group without
// an object. A pod may be older than its PodGroup. It counts once a start is recorded that it was there for.
func (g *group) life() time.Time {
	if g.spec.From == nil {
		return time.Time{}
	}
	since := g.spec.Created
	if r := g.lastRecord(); r != nil && r.Since.Before(since) && !r.Since.IsZero() {
		since = r.Since
	}
	return since
}

// unasked says why it is not known what is asked of a group, nil when it is.
func (g *group) unasked() *hindrance { return hindranceOf(membership.Unasked(g.key, g.spec)) }

// hindranceOf returns a hindrance as kube-scheduler and people are told of it.
func hindranceOf(by *membership.Hindrance) *hindrance {
	if by == nil {
		return nil
	}
	switch by.Kind {
	case membership.NoGroup:
		return &hindrance{ReasonNoGroup, waiting{status.PodGroupNotFound, by.Why}}
	case membership.NoSibling:
		return &hindrance{ReasonSiblings, waiting{status.MembersMissing, by.Why}}
	case membership.Invalid:
	}
	return &hindrance{ReasonInvalid, waiting{status.PodGroupInvalid, by.Why}}
}

// asked returns the spec of a group when it was last looked at, or why it is not known.
func (g *group) asked() (*membership.Spec, *hindrance) {
	if not := g.unasked(); not != nil {
		return nil, not
	}
	return g.frozen(), nil
}

// frozen returns the spec with the minMember of a commit that has bound some members and others not: to ask for
// more has to wait.
func (g *group) frozen() *membership.Spec {
	if g.letGo() == 0 || g.spec.From == nil {
		return g.spec
	}
	r := g.unfinished()
	if r == nil || r.MinMember >= g.spec.MinMember {
		return g.spec
	}
	return g.spec.WithMinMember(r.MinMember)
}

// bundle looks at a group, and at the groups that start together with it.
func (t *turn) bundle(g *group) ([]part, *hindrance) {
	t.look(g)
	if g.spec != nil && g.spec.Err == nil {
		for _, name := range g.spec.Policy.Groups {
			if other := t.groups[membership.Key{Label: g.key.Label, NamespacedName: name}]; other != nil && other != g {
				t.look(other)
			}
		}
	}
	parts, not := t.together(g)
	if not != nil {
		g.waits(not.reason, not.why)
	}
	return parts, not
}

// together returns the groups that start together with one, which is the first of them. There is a hindrance when they
// cannot, see [membership.Spec.Siblings].
func (s *State) together(g *group) ([]part, *hindrance) {
	spec, not := g.asked()
	if not != nil {
		return nil, not
	}
	parts := []part{{g, spec}}
	_, by := spec.Siblings(g.key, func(key membership.Key) (*membership.Spec, *membership.Hindrance) {
		other := s.groups[key]
		if other == nil {
			return nil, nil
		}
		if not := membership.Unasked(other.key, other.spec); not != nil {
			return nil, not
		}
		parts = append(parts, part{other, other.frozen()})
		return other.frozen(), nil
	})
	if by != nil {
		return nil, hindranceOf(by)
	}
	return parts, nil
}

// hasStarted reports whether members may start one by one.
func (s *State) hasStarted(g *group) bool {
	parts, not := s.together(g)
	return not == nil && startedAll(parts)
}

// started looks whether members may start one by one.
func (t *turn) started(g *group) bool {
	parts, not := t.bundle(g)
	return not == nil && startedAll(parts)
}
