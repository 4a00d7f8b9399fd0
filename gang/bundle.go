package gang

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/status"
)

// part is a group of those that start together, and what is asked of it now.
type part struct {
	*group
	spec *spec
}

// bundle is the groups that start together with one, which is the first of them: several
// for a gang of several roles (muster.dev/groups, and Koordinator's
// gang.scheduling.koordinator.sh/groups). There is a reason when one of them is not there
// or asks for nonsense, or does not say that it starts together with the same groups: what
// becomes of one becomes of all, so that all must know of it. And who may write in a namespace
// must not decide that for a group of another one.
func (m *Manager) bundle(g *group) (parts []part, reason string) {
	spec, reason := m.spec(g)
	if reason != "" {
		return nil, reason
	}
	parts = []part{{g, spec}}
	together := spec.together(g.key)
	for _, name := range spec.policy.Groups {
		if name == g.key.NamespacedName {
			continue
		}
		other := m.groups[Key{g.key.Label, name}]
		if other == nil {
			g.waits(status.MembersMissing, fmt.Sprintf("waiting for members of %s, with which it starts together, to be created", name))
			return nil, ReasonSiblings
		}
		spec, reason := m.spec(other)
		if reason != "" {
			g.waits(other.reason, fmt.Sprintf("%s, with which it starts together: %s", name, other.why))
			return nil, reason
		}
		if theirs := spec.together(other.key); !theirs.Equal(together) {
			g.waits(status.PodGroupInvalid, disagreement(name, together, theirs))
			return nil, ReasonInvalid
		}
		parts = append(parts, part{other, spec})
	}
	return parts, ""
}

// together are the names of the groups that start together with one, and its own.
func (s *spec) together(key Key) sets.Set[types.NamespacedName] {
	return sets.New(s.policy.Groups...).Insert(key.NamespacedName)
}

// disagreement says in words what a group says otherwise of who starts together.
func disagreement(other types.NamespacedName, together, theirs sets.Set[types.NamespacedName]) string {
	does, differ := "does not name", together.Difference(theirs)
	if differ.Len() == 0 {
		does, differ = "also names", theirs.Difference(together)
	}
	name := slices.MinFunc(differ.UnsortedList(), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return fmt.Sprintf(
		"%s, with which it is to start together, %s %s: groups that start together have to name the same ones", other, does, name,
	)
}

// counted is how many pods count towards minMember without being held. Those that have failed
// do not: somebody else has to take their place. Of a batch of its own nobody does, unless
// members of the last one were left behind: then those that were not.
func (p part) counted() int {
	if p.spec.policy.MatchPolicy != v1alpha1.MatchOnlyWaiting {
		return p.letGo()
	}
	left := p.leftBehind()
	if left == 0 {
		return 0
	}
	return min(p.letGo(), max(p.spec.minMember-left, 0))
}

// started says that members may start one by one.
func (p part) started() bool {
	return p.satisfiedOnce() || p.counted() >= p.spec.minMember
}

// satisfiedOnce says that quorum was reached once, and that this is enough for good: as far as
// this process knows, by the status of the PodGroup, or by its record, if no start was left
// unfinished. The status forgets when members fail or go; of a group without an object nobody
// remembers once it has no pod, or the process ends.
func (p part) satisfiedOnce() bool {
	if p.spec.policy.MatchPolicy != v1alpha1.MatchOnceSatisfied {
		return false
	}
	return p.satisfied || p.spec.satisfied || p.lastRecord() != nil && p.unfinished() == nil
}

// missing is how many members have to get a place yet.
func (p part) missing() int {
	if p.started() {
		return 0
	}
	c := p.counts
	return p.spec.minMember - p.counted() - c[placed] - c[held]
}

// anyMissing says that members of a bundle have to get a place yet.
func anyMissing(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.missing() > 0 })
}

// bearable says that those of a bundle that have places may wait for those that find none, until
// the time of their plan is up: no part lacks more than a tenth of what it needs (the rule of
// PostFilter in the coscheduling plugin), unless it is not strict.
func bearable(parts []part) bool {
	return !slices.ContainsFunc(parts, func(p part) bool {
		return p.missing()*10 > p.spec.minMember && p.spec.policy.GangMode != v1alpha1.GangNonStrict
	})
}

// quorate says that as many as must start together are held or count already.
func (p part) quorate() bool { return p.started() || p.counted()+p.counts[held] >= p.spec.minMember }

func startedAll(parts []part) bool {
	for _, p := range parts {
		if !p.started() {
			return false
		}
	}
	return true
}
