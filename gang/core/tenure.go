package core

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// A pod may ask to run for a while before it is evicted for others (muster.dev/min-runtime). Until then it is no victim of a gang, and
// is not taken along with others of its own either. What the system needs is not kept waiting by that.

// owes reports whether a pod has not run for as long as it asks to, and notes when the first such pod has.
func (t *Terms) owes(pod *cluster.Pod) bool {
	if t.below >= v1alpha1.SystemCritical {
		return false
	}
	left := t.ages.Owed(pod)
	if left > 0 && (t.owed == 0 || left < t.owed) {
		t.owed = left
	}
	return left > 0
}

// looseOf returns the members of a group that may be evicted while others of it, or of a group that starts together with it, are yet to
// run for longer: no more than it can do without, as those would be evicted with the rest. It is nil where all may.
func (t *Terms) looseOf(g *group, limit *placement.Limit) sets.Set[types.UID] {
	if loose, known := t.loose[g]; known {
		return loose
	}
	t.loose[g] = nil
	takenAlong := func(p *member) bool { return p.stays() && priority(p.pod) < t.below && t.owes(p.pod) }
	if !t.limits.EvictWhole || !slices.ContainsFunc(t.bundleOf(g), func(p part) bool { return len(p.those(takenAlong)) > 0 }) {
		return nil
	}
	members := g.those(func(p *member) bool {
		return p.stays() && !t.goes(p.pod) && priority(p.pod) < t.below && !t.owes(p.pod)
	})
	slices.SortStableFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(priority(a.pod), priority(b.pod)), cmp.Compare(t.ages.Loss(a.pod), t.ages.Loss(b.pod)))
	})
	loose := sets.New[types.UID]()
	for _, p := range members[:min(limit.Allowed, len(members))] {
		loose.Insert(p.pod.UID)
	}
	t.loose[g] = loose
	return loose
}
