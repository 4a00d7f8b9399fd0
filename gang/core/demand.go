package core

import (
	"slices"
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

func (LookedAtPartly) apply(t *turn) {
	for g := range t.partly {
		if g.spec == nil && !g.heard {
			t.bundle(g)
		}
	}
}

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
	if g.spec.Assisted { // calls may have been held before that was known
		for _, p := range g.in(held) {
			t.enter(p, binding)
		}
	}
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
		g.patience, g.courtesy = patience{}, courtesy{}
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
	case membership.Later:
		return &hindrance{ReasonLater, waiting{status.Waiting, by.Why}}
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
		for _, other := range t.around(g) {
			t.look(other)
		}
	}
	parts, not := t.together(g)
	if not != nil {
		g.waits(not.reason, not.why)
	}
	return parts, not
}

// around returns the groups that a group may start together with.
func (s *State) around(g *group) (others []*group) {
	for _, name := range g.spec.Policy.Groups {
		if other := s.groups[membership.Key{Label: g.key.Label, NamespacedName: name}]; other != nil && other != g {
			others = append(others, other)
		}
	}
	if tree := s.trees[g.root]; len(g.spec.Above) > 0 && len(tree) <= membership.MostLeaves {
		for _, other := range tree {
			if other != g {
				others = append(others, other)
			}
		}
	}
	return others
}

// together returns the groups that start together with one, which is the first of them. There is a hindrance when they
// cannot, see [membership.Spec.Siblings].
func (s *State) together(g *group) ([]part, *hindrance) {
	spec, not := g.asked()
	if not != nil {
		return nil, not
	}
	if len(spec.Above) > 0 {
		return s.inTree(g)
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

// part is one of the groups that start together, with its present spec.
type part struct {
	*group
	spec *membership.Spec
}

// counted returns how many pods count towards minMember without being held. Failed pods do not: another pod has
// to take their place. No member of its own batch counts, unless members of the last batch were left behind:
// then the ones that were not left behind count.
func (p part) counted() int {
	if !p.spec.InBatches() {
		return p.letGo()
	}
	left := p.leftBehind()
	if left == 0 {
		return 0
	}
	return min(p.letGo(), max(p.spec.MinMember-left, 0))
}

// started reports whether members may start one by one.
func (p part) started() bool {
	return p.satisfiedOnce() || p.counted() >= p.spec.MinMember
}

// satisfiedOnce reports whether enough members to start together were bound once, and that is enough for good:
// as far as this process has seen, by the status of the PodGroup, or by its record. A record of a start alone
// does not prove it: its writer may have ended before any member was bound. The status forgets when members
// fail or go; a group without an object is forgotten once it has no pod, or the process ends.
func (p part) satisfiedOnce() bool {
	if !p.spec.Once() {
		return false
	}
	r := p.lastRecord()
	return p.satisfied || p.spec.WasSatisfied() || r != nil && (r.Bound || p.anyBound() && p.unfinished() == nil)
}

// anyBound reports whether a pod is bound, or was and has finished.
func (p part) anyBound() bool { return p.counts[bound]+p.done.succeeded+p.done.failed > 0 }

// missing returns how many members have to get a place yet.
func (p part) missing() int {
	if p.started() {
		return 0
	}
	c := p.counts
	return p.spec.MinMember - p.counted() - c[placed] - c.came()
}

// quorate reports whether enough members to start together have come or count already.
func (p part) quorate() bool { return p.started() || p.counted()+p.counts.came() >= p.spec.MinMember }

// mayFollow reports whether members may go without another record: after minMember others that are bound, or
// recorded as let go. Others on their way do not count: they may have followed members that are gone, and fail.
func (p part) mayFollow() bool {
	if !p.started() {
		return false
	}
	return p.satisfiedOnce() || p.wereBound() >= p.spec.MinMember || p.unfinished() != nil
}

// goesAtOnce reports whether the scheduler has decided about all members that it starts together. While none of them is let go,
// a member whose plan has ended since does not go, nor do the others.
func (p part) goesAtOnce(m *member) bool {
	return p.spec.Assisted && (m.stage != pending || p.letGo() > 0)
}

// lacksMembers reports whether there are fewer members than must start together.
func (p part) lacksMembers() bool {
	ready, missing := 0, p.missing()
	for _, m := range p.members {
		if ready >= missing {
			break
		}
		if m.stage == pending && m.ready() {
			ready++
		}
	}
	return ready < missing
}

// late reports whether members that have places have waited too long.
func (p part) late(now time.Time) bool { return p.holds() && !now.Before(p.deadline(p.spec)) }

// anyMissing reports whether members of a bundle have to get a place yet.
func anyMissing(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.missing() > 0 })
}

// bearable reports whether the members of a bundle that have places may wait for the ones without, until the
// time of their plan is up, if gap percent at most are without.
func bearable(parts []part, gap int) bool {
	return !slices.ContainsFunc(parts, func(p part) bool { return !p.spec.Bears(p.missing(), gap) })
}

func startedAll(parts []part) bool {
	for _, p := range parts {
		if !p.started() {
			return false
		}
	}
	return true
}

// unplanned returns the parts whose time has not begun: no member has a place yet.
func unplanned(parts []part) []part {
	var fresh []part
	for _, p := range parts {
		if !p.holds() || p.planned.IsZero() {
			fresh = append(fresh, p)
		}
	}
	return fresh
}

// earliestEnd returns when the time of the first of the groups is up.
func earliestEnd(parts []part) time.Time {
	var end time.Time
	for _, p := range parts {
		if at := p.deadline(p.spec); p.holds() && (end.IsZero() || at.Before(end)) {
			end = at
		}
	}
	return end
}
