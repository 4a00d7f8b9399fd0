package gang

import (
	"fmt"
	"slices"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// part is a group of those that start together, and what is asked of it now.
type part struct {
	*group
	spec *membership.Spec
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
	for _, name := range spec.Policy.Groups {
		if name == g.key.NamespacedName {
			continue
		}
		other := m.groups[membership.Key{Label: g.key.Label, NamespacedName: name}]
		if other == nil {
			g.waits(status.MembersMissing, fmt.Sprintf("waiting for members of %s, with which it starts together, to be created", name))
			return nil, ReasonSiblings
		}
		theirs, reason := m.spec(other)
		if reason != "" {
			g.waits(other.reason, fmt.Sprintf("%s, with which it starts together: %s", name, other.why))
			return nil, reason
		}
		if why := spec.Disagreement(g.key, theirs, other.key); why != "" {
			g.waits(status.PodGroupInvalid, why)
			return nil, ReasonInvalid
		}
		parts = append(parts, part{other, theirs})
	}
	return parts, ""
}

// counted is how many pods count towards minMember without being held. Those that have failed
// do not: somebody else has to take their place. Of a batch of its own nobody does, unless
// members of the last one were left behind: then those that were not.
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

// started says that members may start one by one.
func (p part) started() bool {
	return p.satisfiedOnce() || p.counted() >= p.spec.MinMember
}

// satisfiedOnce says that quorum was reached once, and that this is enough for good: as far as
// this process knows, by the status of the PodGroup, or by its record, if no start was left
// unfinished. The status forgets when members fail or go; of a group without an object nobody
// remembers once it has no pod, or the process ends.
func (p part) satisfiedOnce() bool {
	if !p.spec.Once() {
		return false
	}
	return p.satisfied || p.spec.Satisfied || p.lastRecord() != nil && p.unfinished() == nil
}

// missing is how many members have to get a place yet.
func (p part) missing() int {
	if p.started() {
		return 0
	}
	c := p.counts
	return p.spec.MinMember - p.counted() - c[placed] - c[held]
}

// anyMissing says that members of a bundle have to get a place yet.
func anyMissing(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.missing() > 0 })
}

// bearable says that those of a bundle that have places may wait for those that find none, until
// the time of their plan is up.
func bearable(parts []part) bool {
	return !slices.ContainsFunc(parts, func(p part) bool {
		return !p.spec.Bears(p.missing())
	})
}

// quorate says that as many as must start together are held or count already.
func (p part) quorate() bool { return p.started() || p.counted()+p.counts[held] >= p.spec.MinMember }

func startedAll(parts []part) bool {
	for _, p := range parts {
		if !p.started() {
			return false
		}
	}
	return true
}
