package gang

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// Key tells one group from another. Groups of one name under different labels are not the
// same.
type Key struct {
	Label string // that makes pods its members
	types.NamespacedName
}

// text is the key as one word.
func (k Key) text() string { return k.Label + "/" + k.String() }

// Of is the group that a pod is of; false for a pod of none, and for one of a PodGroup that
// kube-scheduler itself plans (spec.schedulingGroup).
func Of(pod *corev1.Pod) (key Key, member bool) {
	if pod.Spec.SchedulingGroup != nil {
		return Key{}, false
	}
	label, name, member := v1alpha1.GroupLabel(pod.Labels)
	if !member {
		return Key{}, false
	}
	return Key{label, types.NamespacedName{Namespace: pod.Namespace, Name: name}}, true
}

// spec is what is asked of a group.
type spec struct {
	minMember    int
	minResources corev1.ResourceList
	timeout      time.Duration
	policy       v1alpha1.Policy
	satisfied    bool           // quorum was reached, by the status of the PodGroup
	record       *record.Record // of the last commit, by the PodGroup

	from *unstructured.Unstructured // the PodGroup, nil for a group without an object
	err  error                      // what is wrong with it
}

// spec is what is asked of a group now: by its PodGroup, else by its members. There is a
// reason when that is not known, and the group says more of it.
func (m *Manager) spec(g *group) (*spec, string) {
	object := m.podGroup(g.key)
	switch {
	case object != nil:
		if g.spec == nil || g.spec.from != object.Unstructured {
			g.asks(m.limits.asked(object))
		}
	default:
		m.hear(g)
		if g.spec == nil {
			g.waits(status.PodGroupNotFound, fmt.Sprintf("there is no PodGroup %s in namespace %s, and no member says %s",
				g.key.Name, g.key.Namespace, v1alpha1.AnnotationMinMember))
			return nil, ReasonNoGroup
		}
	}
	if g.spec.err != nil {
		g.waits(status.PodGroupInvalid, g.spec.err.Error())
		return nil, ReasonInvalid
	}
	g.complete()
	return g.frozen(), ""
}

// hear reads what the members of a group without an object say, if they may say something else
// than when it last did. When there is none left, what they said stands.
func (m *Manager) hear(g *group) {
	if g.spec != nil && g.spec.from == nil && (g.heard || len(g.members) == 0) {
		return
	}
	g.heard = true
	g.asks(m.declared(g))
}

// asks notes what is asked of a group now. Something else than before ends its rest.
func (g *group) asks(now *spec) {
	if g.spec != nil && (now == nil || !now.asksAsMuchAs(g.spec)) {
		g.tries = tries{asked: g.tries.asked}
	}
	g.spec = now
}

// asksAsMuchAs says that nothing else is asked of a group than before, whatever its status says.
func (s *spec) asksAsMuchAs(before *spec) bool {
	return s.minMember == before.minMember && s.timeout == before.timeout &&
		equality.Semantic.DeepEqual(s.minResources, before.minResources) && equality.Semantic.DeepEqual(s.policy, before.policy)
}

// frozen is the spec with the minMember of a commit of which some members are bound and some
// are not: to ask for more has to wait.
func (g *group) frozen() *spec {
	if g.letGo() == 0 || g.spec.from == nil {
		return g.spec
	}
	r := g.unfinished()
	if r == nil || r.MinMember >= g.spec.minMember {
		return g.spec
	}
	frozen := *g.spec
	frozen.minMember = r.MinMember
	return &frozen
}

// podGroup is the PodGroup of a group, nil when there is none.
func (m *Manager) podGroup(key Key) *v1alpha1.Observed {
	apiGroup := v1alpha1.APIGroupOf(key.Label)
	if apiGroup == "" {
		return nil
	}
	object, _ := m.cluster.Snapshot().Custom(v1alpha1.ResourceOf(apiGroup)).Get(key.NamespacedName)
	return object
}

// asked is what a PodGroup asks for.
func (l *Limits) asked(object *v1alpha1.Observed) *spec {
	s := &spec{from: object.Unstructured, timeout: l.Timeout, record: record.Of(object), policy: object.Policy, err: object.Err}
	podGroup := object.PodGroup
	if podGroup == nil {
		return s
	}
	s.minMember, s.minResources = int(podGroup.Spec.MinMember), podGroup.Spec.MinResources
	if seconds := podGroup.Spec.ScheduleTimeoutSeconds; seconds != nil && *seconds > 0 {
		s.timeout = min(time.Duration(*seconds)*time.Second, l.MaxTimeout)
	}
	switch podGroup.Status.Phase {
	case v1alpha1.PodGroupScheduled, v1alpha1.PodGroupRunning, v1alpha1.PodGroupFinished:
		s.satisfied = true
	default:
	}
	if s.err == nil {
		s.err = l.tooLarge("spec.minMember", s.minMember)
	}
	return s
}

// tooLarge says what is wrong with a group of so many members.
func (l *Limits) tooLarge(field string, minMember int) error {
	if minMember <= l.MaxMembers {
		return nil
	}
	return fmt.Errorf("%s: %d is more than a gang may have here, which is %d (gangs.maxMembers)", field, minMember, l.MaxMembers)
}

// declared is what the members of a group without an object say, the one of the first name
// of those that say something; nil when none does.
func (m *Manager) declared(g *group) *spec {
	var first *member
	for _, p := range g.members {
		if _, says := p.pod.Annotations[v1alpha1.AnnotationMinMember]; says && (first == nil || p.pod.Name < first.pod.Name) {
			first = p
		}
	}
	if first == nil {
		return nil
	}
	s := &spec{timeout: m.limits.Timeout}
	minMember, err := v1alpha1.DecodeMinMember(first.pod.Annotations)
	if s.minMember, s.err = int(minMember), err; err == nil {
		s.policy, s.err = v1alpha1.DecodePolicy(first.pod.Annotations)
	}
	if s.err == nil {
		s.err = m.limits.tooLarge(v1alpha1.AnnotationMinMember, s.minMember)
	}
	return s
}
