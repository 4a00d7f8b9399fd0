package planner

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/ptr"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// roster knows which pods may be moved, which of them move together, and why others stay. It makes items of
// the pods of a node when somebody first asks about that node.
type roster struct {
	*state

	kinds     *kinds
	snap      *cluster.Snapshot
	rules     *Rules
	now       time.Time
	workloads *Workloads
	gangs     func() map[string][]spot // all pods on nodes that are of one; worked out when a pod that may be moved is of one

	loaded  []bool           // by node index: its pods are items
	guarded []map[string]int // by node index: its pods that may not be moved, by reason
	units   []unit
	unitOf  map[string]int32 // by the name of a gang
}

// unit is items that are moved together or not at all: one pod, or a gang.
type unit struct {
	gang  string
	items []int32
	fixed string // why it may not be moved, "" when it may
}

// spot is a pod on a node.
type spot struct {
	pod  *cluster.Pod
	node int32
}

func newRoster(p *Problem, s *state, k *kinds, now time.Time) *roster {
	end := p.Snapshot.IndexEnd()
	return &roster{
		state: s, kinds: k, snap: p.Snapshot, rules: &p.Rules, now: now, workloads: WorkloadsOf(p.Snapshot),
		gangs:  sync.OnceValue(func() map[string][]spot { return gangsOn(p.Snapshot) }),
		loaded: make([]bool, end), guarded: make([]map[string]int, end), unitOf: map[string]int32{},
	}
}

// gangsOn returns the pods of each gang that are on nodes.
func gangsOn(snap *cluster.Snapshot) map[string][]spot {
	gangs := map[string][]spot{}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if name := gangOf(pod); name != "" {
				gangs[name] = append(gangs[name], spot{pod, node.Index})
			}
		}
	}
	return gangs
}

// gangOf names the gang of a pod, "" for none.
func gangOf(pod *cluster.Pod) string {
	if membership.Left(pod) {
		return fmt.Sprintf("%s/%s", pod.Namespace, ptr.Deref(pod.Spec.SchedulingGroup.PodGroupName, ""))
	}
	key, member := membership.Of(pod)
	if !member {
		return ""
	}
	return key.String()
}

// load makes items of the pods of a node that may be moved.
func (r *roster) load(node int32) {
	if r.loaded[node] {
		return
	}
	r.loaded[node] = true
	for _, pod := range r.snap.Node(node).Pods {
		if r.leaving.leaves(spot{pod, node}) {
			continue // it keeps nobody
		}
		name := gangOf(pod)
		if name == "" {
			item, reason := r.enter(spot{pod, node})
			if reason != "" {
				r.guard(node, reason)
			} else {
				r.alone(item)
			}
			continue
		}
		if reason := r.units[r.loadGang(name)].fixed; reason != "" {
			r.guard(node, reason)
		}
	}
}

func (r *roster) guard(node int32, reason string) {
	if r.guarded[node] == nil {
		r.guarded[node] = map[string]int{}
	}
	r.guarded[node][reason]++
}

// loadGang makes items of all pods of a gang, wherever they are, and returns its unit.
func (r *roster) loadGang(name string) int32 {
	if at, known := r.unitOf[name]; known {
		return at
	}
	u := unit{gang: name}
	for _, spot := range r.gangs()[name] {
		if _, reason := r.judge(spot); reason != "" {
			u.fixed = ReasonGang
			if len(r.gangs()[name]) == 1 {
				u.fixed = reason
			}
		}
	}
	at := int32(len(r.units)) //nolint:gosec // no more than there are pods
	r.unitOf[name], r.units = at, append(r.units, u)
	if u.fixed != "" {
		return at
	}
	for _, spot := range r.gangs()[name] {
		item, _ := r.enter(spot)
		r.items[item].unit = at
		r.units[at].items = append(r.units[at].items, item)
	}
	return at
}

// alone makes an item a unit of its own.
func (r *roster) alone(item int32) {
	r.items[item].unit = int32(len(r.units)) //nolint:gosec // no more than there are pods
	r.units = append(r.units, unit{items: []int32{item}})
}

// judge returns why a pod may not be moved, and else the accounts on which that counts.
func (r *roster) judge(at spot) (accounts []int32, reason string) {
	reason = r.rules.Protects(at.pod, r.snap.Node(at.node), r.workloads, r.now)
	if reason != "" {
		return nil, reason
	}
	if r.kinds.profiles[at.pod.Spec.SchedulerName] == nil {
		return nil, ReasonUnknownScheduler
	}
	if membership.AsksTopology(at.pod, r.snap) {
		return nil, ReasonNear
	}
	accounts, disruption := r.ledger.of(at.pod, at.node)
	switch {
	case disruption > 1:
		return nil, ReasonTwoBudgets
	case len(r.gone) == 0 && !r.ledger.allows(accounts):
		return nil, ReasonBudget
	}
	return accounts, ""
}

// enter makes an item of a pod on a node, or returns why it may not be moved.
func (r *roster) enter(at spot) (index int32, reason string) {
	accounts, reason := r.judge(at)
	if reason != "" {
		return -1, reason
	}
	needs := r.needs(at.pod, r.snap.Node(at.node))
	return r.add(item{
		pod: at.pod, needs: needs, origin: at.node, at: at.node, kind: -1, group: -1, limit: corev1helpers.PodPriority(at.pod.Pod),
		cost: cost(at.pod, r.ledger.headroom(accounts), r.now), accounts: accounts, size: r.rates.size(needs),
	}), ""
}

// fixed returns why a pod is no item.
func (r *roster) fixed(at spot) string {
	if _, reason := r.judge(at); reason != "" {
		return reason
	}
	return ReasonGang
}

// staying returns the reasons of pods that keep a node from being emptied.
func (r *roster) staying(node int32) []Detail {
	var details []Detail
	for reason, pods := range r.guarded[node] {
		if reason != ReasonDaemonSetPod && reason != ReasonMirrorPod { // these go with the node
			details = append(details, Detail{Reason: reason, Pods: pods})
		}
	}
	slices.SortFunc(details, func(a, b Detail) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
	})
	return details
}

// movable reports whether all pods of a unit may be moved for a pod of that priority.
func (r *roster) movable(at int32, limit int32) bool {
	for _, member := range r.units[at].items {
		i := &r.items[member]
		if i.pinned || i.at < 0 || i.limit > limit && !r.rules.AllowHigherPriority {
			return false
		}
		if i.away() {
			continue
		}
		if !r.ledger.allows(i.accounts) {
			return false
		}
		if r.kinds.kindOf(i); r.came[place{i.kind, i.origin}] > 0 {
			return false // another one of its kind came
		}
	}
	return true
}

// wished reports whether an item moves because it, or one of its gang, is to leave its node.
func (r *roster) wished(i *item) bool {
	if i.pending() {
		return false
	}
	for _, member := range r.units[i.unit].items {
		if r.items[member].isToLeave() {
			return true
		}
	}
	return false
}

// Exclusion is a pod on a node that no plan moves.
type Exclusion struct {
	Pod    *cluster.Pod
	Node   *cluster.Node
	Reason string // one of the constants, or what Rules.Unless says
}

// Exclusions returns all pods on nodes that no plan moves, by the order of nodes. Obstacles to a move of the
// others, such as that they fit nowhere, are not looked at.
func (p *Problem) Exclusions() []Exclusion {
	roster := newRoster(p, newState(p), newKinds(p), p.Clock.Now())
	var all []Exclusion
	for node := range p.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if reason := roster.excludes(spot{pod, node.Index}); reason != "" {
				all = append(all, Exclusion{Pod: pod, Node: node, Reason: reason})
			}
		}
	}
	return all
}

// excludes returns why a pod may not be moved, or not with its gang; "" when it may.
func (r *roster) excludes(at spot) string {
	name := gangOf(at.pod)
	if name != "" && r.units[r.loadGang(name)].fixed != "" {
		return r.fixed(at)
	}
	_, reason := r.judge(at)
	return reason
}
