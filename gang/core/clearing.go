package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/placement"
)

// clearing describes what a group with places waits for: others that are still there.
type clearing struct {
	victims map[string][]Victim // by place
	until   time.Time           // the group waits
	seen    uint64              // the generation of the cluster at which that held

	// evictAgain is when muster evicts pods itself that are not going by then.
	evictAgain time.Time

	breaking breaking // what its evictions do to other gangs
}

// Victim is a pod that has to go, as the watch last showed it.
type Victim struct {
	Pod      *cluster.Pod
	Violates bool // a disruption budget
}

func (v Victim) is(pod *cluster.Pod) bool { return pod.UID == v.Pod.UID }

// clear has the parts wait for victims to go from the places of their members, whose eviction breaks some gangs.
func (t *turn) clear(parts []part, victims map[string][]Victim, breaks breaking) {
	count, patience := 0, time.Duration(0)
	for _, of := range victims {
		count += len(of)
		for _, v := range of {
			patience = max(patience, placement.LeavesIn(v.Pod, t.now))
		}
	}
	if count == 0 {
		return
	}
	t.has(Clearing{parts[0].key, count})
	for _, p := range parts {
		p.tries.evicted = true
		p.courtesy.evicted(t.now)
		if p.clearing == nil {
			p.clearing = &clearing{victims: map[string][]Victim{}, evictAgain: t.now.Add(t.limits.EvictAfter)}
		}
		for _, member := range p.in(placed, reserved) {
			for _, v := range victims[member.place] {
				if !slices.ContainsFunc(p.clearing.victims[member.place], func(known Victim) bool { return known.is(v.Pod) }) {
					p.clearing.victims[member.place] = append(p.clearing.victims[member.place], v)
				}
			}
		}
		if until := t.now.Add(patience + p.spec.Timeout); until.After(p.clearing.until) {
			p.clearing.until = until
		}
		p.waits(status.Evicting, fmt.Sprintf("waiting for %d pods to be evicted for it", count))
	}
	first := parts[0].clearing
	first.breaking.below, first.breaking.bundles = breaks.below, append(slices.Clip(first.breaking.bundles), breaks.bundles...)
}

// awaiting looks whether victims of a bundle are still there. Once all are gone, its time begins,
// and the scheduler is told, but of the member that it asks about.
func (t *turn) awaiting(parts []part, asking *member) bool {
	waited, waits := false, false
	for _, p := range parts {
		if p.clearing != nil {
			waited = true
			waits = t.follow(p.group) || waits
		}
	}
	if waits || !waited {
		return waits
	}
	for _, p := range parts {
		if p.clearing == nil {
			continue
		}
		breakup{t}.endClearing(p.group)
		p.planned = t.now
		p.waits(status.None, "")
		if p.leads(t.view) {
			continue // the scheduler keeps their room already
		}
		for _, member := range p.in(placed, kept) {
			if member != asking {
				steering{t}.steer(member, t.view.NodeCount())
			}
		}
	}
	return false
}

// follow forgets the victims of a group that are gone, or that no member waits for any more. It
// reports whether there are others.
func (t *turn) follow(g *group) bool {
	generation := t.view.Generation() // before the nodes are read, as they may change meanwhile
	if g.clearing.seen == generation {
		return len(g.clearing.victims) > 0
	}
	left := map[string][]Victim{}
	for _, p := range g.members {
		node := t.view.Node(p.place)
		if p.stage != placed && p.stage != reserved || node == nil || left[p.place] != nil {
			continue
		}
		for _, v := range g.clearing.victims[p.place] {
			if at := slices.IndexFunc(node.Pods, v.is); at >= 0 {
				left[p.place] = append(left[p.place], Victim{node.Pods[at], v.Violates})
			}
		}
	}
	g.clearing.victims, g.clearing.seen = left, generation
	return len(left) > 0
}

// evictLeft evicts the victims that are not going yet. The scheduler does that by itself as it
// asks about one member after the other. But one that it has put aside since it fits no node
// it does not take up until a pod goes: no change of the pod itself is an event then
// (isSchedulableAfterPodEvent of NodeResourcesFit), so that members cannot be woken to it.
func (t *turn) evictLeft(parts []part) {
	g := parts[0].group
	if g.clearing == nil || t.now.Before(g.clearing.evictAgain) || anyMissing(parts) {
		return
	}
	g.clearing.evictAgain = t.now.Add(EvictRetry)
	for _, node := range slices.Sorted(maps.Keys(g.clearing.victims)) {
		for _, v := range g.clearing.victims[node] {
			if v.Pod.DeletionTimestamp == nil {
				t.has(Evict{g.key, v.Pod})
			}
		}
	}
}

// EvictRetry is how long an eviction is left to show.
const EvictRetry = 10 * time.Second

// ToEvict reports whether a pod still has to go for a group, and the scheduler name of its members.
func (s *State) ToEvict(key membership.Key, pod *cluster.Pod) (schedulerName string, wanted bool) {
	if d, doomed := s.doomed[pod.UID]; doomed && d.by == key {
		return d.schedulerName, true
	}
	g := s.groups[key]
	if g == nil {
		return "", false
	}
	return g.schedulerName, g.clearing != nil &&
		slices.ContainsFunc(g.clearing.victims[pod.Spec.NodeName], func(v Victim) bool { return v.is(pod) })
}
