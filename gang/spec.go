package gang

import (
	"fmt"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// spec is what is asked of a group now: by its PodGroup, else by its members. There is a
// reason when that is not known, and the group says more of it.
func (m *Manager) spec(g *group) (*membership.Spec, string) {
	object := m.podGroup(g.key)
	switch {
	case object != nil:
		if g.spec == nil || g.spec.From != object.Unstructured {
			g.asks(m.limits.Asked(object))
		}
	default:
		m.hear(g)
		if g.spec == nil {
			g.waits(status.PodGroupNotFound, fmt.Sprintf("there is no PodGroup %s in namespace %s, and no member says %s",
				g.key.Name, g.key.Namespace, v1alpha1.AnnotationMinMember))
			return nil, ReasonNoGroup
		}
	}
	if g.spec.Err != nil {
		g.waits(status.PodGroupInvalid, g.spec.Err.Error())
		return nil, ReasonInvalid
	}
	g.complete()
	return g.frozen(), ""
}

// hear reads what the members of a group without an object say, if they may say something else
// than when it last did. When there is none left, what they said stands.
func (m *Manager) hear(g *group) {
	if g.spec != nil && g.spec.From == nil && (g.heard || len(g.members) == 0) {
		return
	}
	g.heard = true
	g.asks(m.declared(g))
}

// asks notes what is asked of a group now. Something else than before ends its rest.
func (g *group) asks(now *membership.Spec) {
	if g.spec != nil && (now == nil || !now.AsksAsMuchAs(g.spec)) {
		g.tries = tries{asked: g.tries.asked}
	}
	g.spec = now
}

// frozen is the spec with the minMember of a commit of which some members are bound and some
// are not: to ask for more has to wait.
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

// podGroup is the PodGroup of a group, nil when there is none.
func (m *Manager) podGroup(key membership.Key) *v1alpha1.Observed {
	return membership.Object(m.cluster.Snapshot(), key)
}

// declared is what the members of a group without an object say, nil when none does.
func (m *Manager) declared(g *group) *membership.Spec {
	var first *member
	for _, p := range g.members {
		if membership.Says(p.pod.Pod) && (first == nil || p.pod.Name < first.pod.Name) {
			first = p
		}
	}
	if first == nil {
		return nil
	}
	return m.limits.Declared(first.pod.Pod)
}
