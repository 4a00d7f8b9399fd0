package planner

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement/scenario"
)

// search is one attempt to solve a problem.
type search struct {
	*state
	problem *Problem
	limits  Limits
	now     time.Time // when it began
	end     time.Time
	random  *rand.Rand
	noise   float64 // how often the best choice is passed over, 0 to 1

	world *scenario.Scenario // as it is before the plan
	kinds *kinds
	rates rates
	nodes []int32 // all of them

	loaded   []bool           // by node index: its pods are items
	guarded  []map[string]int // by node index: its pods that may not be moved, by reason
	units    []unit
	unitOf   map[string]int32 // by the name of a gang
	gangs    map[string][]spot
	replicas func(controller types.UID) int
	blockers map[opening][]int32
	groups   []group
	ranks    int // how many priorities there are among the groups
	wishes   []*wish
	late     bool
	forsaken []bool            // by node index: nothing that would empty it could be proven
	kept     map[int32]Refusal // nodes that could not be emptied
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

// group is a Group in the search.
type group struct {
	*Group
	items   []int32
	rank    int  // by priority: 0 for the highest
	givenUp bool // nothing that was planned for it could be proven
}

func newSearch(p *Problem) *search {
	now := p.Clock.Now()
	limits := p.Limits.withDefaults()
	end := p.Snapshot.IndexEnd()
	s := &search{
		problem: p, limits: limits, now: now, end: now.Add(limits.Time), random: rand.New(rand.NewPCG(p.Seed, 0)),
		world: scenario.New(p.Snapshot), kinds: newKinds(p), replicas: Replicas(p.Snapshot),
		loaded: make([]bool, end), guarded: make([]map[string]int, end),
		unitOf: map[string]int32{}, forsaken: make([]bool, end), kept: map[int32]Refusal{}, blockers: map[opening][]int32{},
	}
	s.state = newState(p, newLedger(p.Budgets, p.Snapshot))
	s.rates = ratesOf(p.Snapshot, s.reckoning)
	for node := range p.Snapshot.Nodes() {
		s.nodes = append(s.nodes, node.Index)
	}
	for _, held := range p.Held {
		s.world.Put(held.Pod, held.Node)
		s.needs(held.Pod, p.Snapshot.Node(held.Node)).addTo(s.freeAt(held.Node), -1)
	}
	s.begin()
	s.survey()
	return s
}

// survey looks at all pods once, and finds those of gangs.
func (s *search) survey() {
	s.gangs = map[string][]spot{}
	for node := range s.problem.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if name := gangOf(pod); name != "" {
				s.gangs[name] = append(s.gangs[name], spot{pod, node.Index})
			}
		}
	}
}

// gangOf names the gang of a pod, "" for none.
func gangOf(pod *cluster.Pod) string {
	if scheduling := pod.Spec.SchedulingGroup; scheduling != nil {
		return fmt.Sprintf("%s/%v", pod.Namespace, scheduling.PodGroupName)
	}
	if len(pod.Labels) == 0 {
		return ""
	}
	key, member := membership.Of(pod.Pod)
	if !member {
		return ""
	}
	return key.String()
}

// past says that the time to search is up.
func (s *search) past() bool {
	s.late = s.late || !s.problem.Clock.Now().Before(s.end)
	return s.late
}

// load makes items of the pods of a node that may be moved.
func (s *search) load(node int32) {
	if s.loaded[node] {
		return
	}
	s.loaded[node] = true
	at := s.problem.Snapshot.Node(node)
	for _, pod := range at.Pods {
		name := gangOf(pod)
		if name == "" {
			item, reason := s.add(spot{pod, node})
			if reason != "" {
				s.guard(node, reason)
			} else {
				s.alone(item)
			}
			continue
		}
		if reason := s.units[s.loadGang(name)].fixed; reason != "" {
			s.guard(node, reason)
		}
	}
}

func (s *search) guard(node int32, reason string) {
	if s.guarded[node] == nil {
		s.guarded[node] = map[string]int{}
	}
	s.guarded[node][reason]++
}

// loadGang makes items of all pods of a gang, wherever they are, and returns its unit.
func (s *search) loadGang(name string) int32 {
	if at, known := s.unitOf[name]; known {
		return at
	}
	u := unit{gang: name}
	for _, spot := range s.gangs[name] {
		if _, reason := s.judge(spot); reason != "" {
			u.fixed = ReasonGang
			if len(s.gangs[name]) == 1 {
				u.fixed = reason
			}
		}
	}
	at := int32(len(s.units)) //nolint:gosec // no more than there are pods
	s.unitOf[name], s.units = at, append(s.units, u)
	if u.fixed != "" {
		return at
	}
	for _, spot := range s.gangs[name] {
		item, _ := s.add(spot)
		s.items[item].unit = at
		s.units[at].items = append(s.units[at].items, item)
	}
	return at
}

// alone makes an item a unit of its own.
func (s *search) alone(item int32) {
	s.items[item].unit = int32(len(s.units)) //nolint:gosec // no more than there are pods
	s.units = append(s.units, unit{items: []int32{item}})
}

// judge says why a pod may not be moved, and else on which accounts that counts.
func (s *search) judge(at spot) (accounts []int32, reason string) {
	p := s.problem
	reason = p.Rules.Protects(at.pod, p.Snapshot.Node(at.node), s.replicas, s.now)
	if reason != "" {
		return nil, reason
	}
	if s.kinds.profiles[at.pod.Spec.SchedulerName] == nil {
		return nil, ReasonUnknownScheduler
	}
	accounts, disruption := s.ledger.of(at.pod, at.node)
	switch {
	case disruption > 1:
		return nil, ReasonTwoBudgets
	case len(s.gone) == 0 && !s.ledger.allows(accounts):
		return nil, ReasonBudget
	}
	return accounts, ""
}

// add makes an item of a pod on a node, or says why it may not be moved.
func (s *search) add(at spot) (index int32, reason string) {
	accounts, reason := s.judge(at)
	if reason != "" {
		return -1, reason
	}
	index = int32(len(s.items)) //nolint:gosec // no more than there are pods
	needs := s.needs(at.pod, s.problem.Snapshot.Node(at.node))
	s.items = append(s.items, item{
		pod: at.pod, needs: needs, origin: at.node, at: at.node, slot: int32(len(s.on[at.node])), //nolint:gosec // as above
		kind: -1, group: -1, limit: corev1helpers.PodPriority(at.pod.Pod),
		cost: cost(at.pod, s.ledger.headroom(accounts), s.now), accounts: accounts, size: s.rates.size(needs),
	})
	s.on[at.node] = append(s.on[at.node], index)
	return index, ""
}

// kindOf is the kind of an item, which is looked up when it first matters.
func (s *search) kindOf(i *item) *kind {
	if i.kind < 0 {
		i.kind = s.kinds.find(i.pod)
	}
	return s.kinds.all[i.kind]
}
