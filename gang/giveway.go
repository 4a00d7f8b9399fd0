package gang

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

var errOutranked = errors.New("gang: its places were needed by pods of higher priority")

// GiveWay makes room for a pod that fits no node, if plans of gangs of lower priority are
// what is in the way. It says whether it did. A gang of which members are bound, or may
// have been let go to be, keeps its places.
func (m *Manager) GiveWay(pod *cluster.Pod, store *predicates.VerdictStore) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	return m.giveWay(pod.Namespace+"/"+pod.Name, priority(pod), store, []*cluster.Pod{pod}, func(plan *placement.Plan) []int32 {
		if index := plan.Place(pod); index >= 0 {
			return []int32{index}
		}
		return nil
	})
}

// giveWayTo is GiveWay for a bundle.
func (m *Manager) giveWayTo(parts []part) bool {
	var pods []*cluster.Pod
	for _, p := range parts {
		for _, candidate := range readyOf(p.in(pending)) {
			pods = append(pods, candidate.pod)
		}
	}
	deadline := m.clock.Now().Add(m.limits.PlanTime)
	return m.giveWay(parts[0].key.String(), parts[0].priority, parts[0].store, pods, func(plan *placement.Plan) (on []int32) {
		places, _ := m.placeAll(plan, parts, deadline)
		for _, place := range places {
			on = append(on, place.Node)
		}
		return on
	})
}

// giveWay looks where pods would go if no gang of lower priority were planned, and denies
// those gangs that have a place on these nodes.
func (m *Manager) giveWay(
	to string, above int32, store *predicates.VerdictStore, pods []*cluster.Pod, where func(*placement.Plan) []int32,
) bool {
	var lower []*group
	for _, g := range m.groups {
		if c := g.counts; g.priority < above && g.begun() == 0 && g.recording == nil && c[placed]+c[held] > 0 {
			lower = append(lower, g)
		}
	}
	if len(lower) == 0 || store == nil {
		return false
	}
	needed := m.neededWithout(lower, store, pods, where)
	denied := false
	for _, g := range lower {
		for _, p := range g.members {
			if p.stage != pending && needed.Has(p.place) {
				m.deny(g, status.Unschedulable, fmt.Sprintf("its places were needed by %s, which has a higher priority", to), errOutranked)
				denied = true
				break
			}
		}
	}
	return denied
}

// neededWithout are the names of the nodes on which pods would go without some groups.
func (m *Manager) neededWithout(
	groups []*group, store *predicates.VerdictStore, pods []*cluster.Pod, where func(*placement.Plan) []int32,
) sets.Set[string] {
	m.seed++
	plan := placement.New(store, pods, m.seed)
	defer plan.Close()
	for _, g := range groups {
		for _, p := range g.members {
			if node := plan.Snapshot().NodeByName(p.place); p.stage != pending && node != nil {
				plan.Take(p.pod, node.Index)
			}
		}
	}
	needed := sets.New[string]()
	for _, index := range where(plan) {
		if index >= 0 {
			needed.Insert(plan.Node(index).Name)
		}
	}
	return needed
}

// Planned says that a pod counts on its node only since it was planned there: the scheduler
// has not bound it yet, and is not about to.
func (m *Manager) Planned(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groupOf[uid]
	return g != nil && g.members[uid].stage == placed
}

// Harm is what evictions would do to gangs.
type Harm int

// What evictions would do, the worst last.
const (
	// NoHarm leaves every gang with as many members as must run together.
	NoHarm Harm = iota
	// BreaksGang leaves one that runs with fewer.
	BreaksGang
	// BreaksStart takes members from one that is just about to start.
	BreaksStart
)

// Harms says what the evictions on each of some nodes would do, for a pod of no gang, and those on
// no other node: by the rules of evictions for gangs, see terms. What goes in any case does no harm.
func (m *Manager) Harms(victims map[string][]types.UID) map[string]Harm {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	terms, harms := m.terms(), map[string]Harm{}
	for node, of := range victims {
		harms[node] = terms.harm(of)
	}
	return harms
}

// harm is that of evictions that are made together.
func (t *terms) harm(victims []types.UID) Harm {
	lost := map[*placement.Limit]int{}
	for _, uid := range victims {
		g := t.groupOf[uid]
		switch {
		case g == nil || t.goes(g.members[uid].pod):
		case t.spares(g):
			return BreaksStart
		default:
			lost[t.limit(g)]++
		}
	}
	for limit, count := range lost {
		if limit != nil && count > limit.Allowed {
			return BreaksGang
		}
	}
	return NoHarm
}
