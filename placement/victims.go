package placement

import (
	"maps"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// Evictions finds places for pods that are to be placed together, and has others evicted
// where there is no room:
//
//	evictions := placement.NewEvictions(plan, may)
//	outcome := evictions.PlaceAll(pods, atLeast, deadline)
//	if outcome.Kept {
//		victims, ok := evictions.Victims()
//	}
//
// A pod goes to free room, the best there is, as long as there is some. Else it goes to the
// node where that costs least by the criteria of kube-scheduler
// (pickOneNodeForPreemption in pkg/scheduler/framework/preemption), in their order: the
// fewest violations of disruption budgets, the least important victim at the top, the
// smallest sum of priorities, the fewest victims, the latest start. Before all of them
// comes how much is lost because pods are of use only together, see [Limit], and before the
// last one the work that is lost, see [Eviction].
//
// So the search is greedy: one pod after the other is given the cheapest place, and room left there is free to
// the next pod. That evicts fewer pods than to take all pods of low priority away and to give back the ones
// that no placed pod displaces: then pods would go where most was taken.
//
// Only pods on the node itself are evicted to make room on it, as kube-scheduler does. It
// belongs to one goroutine, as the plan does.
type Evictions struct {
	plan  *Plan
	terms terms

	evictees map[int32][]*evictee // by node index, the most important first, once they were asked for
	kinds    map[predicates.Class]*evictor
	changed  []int32 // nodes on which the costs of evictions may be others than before
	placed   []Place
	begun    decided
	evicted  []*evictee // some of them may have been spared since
	all      *among
	among    *among // nodes that pods may come to: all, except where [Evictions.PlaceNear] tries a domain
}

// Eviction describes a pod that may be evicted.
type Eviction struct {
	// Leaving says that the pod is going anyway: it costs nothing, but time.
	Leaving bool
	// Limits that the pod falls under, besides disruption budgets.
	Limits []*Limit
	// Loss is the work that is lost with the pod, in any unit. Of pods that are equal otherwise, the ones with the least loss go.
	Loss float64
}

// Limit says how many of some pods may be evicted at no more cost than their own.
type Limit struct {
	// Allowed is how many of the pods may be evicted before the limit is violated.
	Allowed int
	// Whole is how many pods become useless once the limit is exceeded; no further loss counts. 0 means that each
	// eviction over the limit is a violation of its own, as with disruption budgets.
	Whole int
	// Loss is the work that is lost with all of them, once the limit is exceeded.
	Loss float64

	used  int
	nodes []int32 // of evictees under it
}

// Victim is a pod that has to go.
type Victim struct {
	Pod     *cluster.Pod
	Node    int32 // its index
	Leaving bool  // it is going anyway
	// Violates says that the eviction is not allowed by a disruption budget, after the evictions before it in
	// the list.
	Violates bool
}

// NewEvictions begins a search on a plan as it is. may says which pods may be evicted; it is
// asked once about each.
func NewEvictions(plan *Plan, may func(*cluster.Pod) (Eviction, bool)) *Evictions {
	all := allNodes(plan.Snapshot())
	e := &Evictions{
		plan: plan, terms: newTerms(plan.Snapshot(), may), all: all, among: all,
		evictees: map[int32][]*evictee{}, kinds: map[predicates.Class]*evictor{},
	}
	e.begun = e.decided()
	return e
}

// PlaceAll places pods in their order until the required number has a place; the others get none. If fewer get
// one, or time runs out, every move is undone, and the search and the plan are of no more use. It may be called
// again for other pods. It tells the objections to the first pod without a place, on nodes that all evictable
// pods have left.
func (e *Evictions) PlaceAll(pods []*cluster.Pod, atLeast int, deadline time.Time) Outcome {
	outcome, told := Outcome{Places: make([]Place, len(pods))}, false
	for i, pod := range pods {
		place := &outcome.Places[i]
		*place = Place{Pod: pod, Node: -1}
		if outcome.Late = outcome.Late || e.plan.past(deadline); outcome.Late || outcome.Placed >= atLeast {
			continue
		}
		switch place.Node = e.place(pod, deadline); {
		case place.Node >= 0:
			outcome.Placed++
			e.placed = append(e.placed, *place)
		case !told && e.among == e.all:
			place.Against, told = e.against(pod, deadline), true
		}
	}
	outcome.Kept = outcome.Placed >= atLeast && !outcome.Late
	return outcome
}

// place puts a pod where there is room, or where that costs least; it returns -1 when the pod fits nowhere.
func (e *Evictions) place(pod *cluster.Pod, deadline time.Time) int32 {
	before, index := e.plan.Moves(), int32(-1)
	if e.among == e.all {
		index = e.plan.Place(pod)
	} else {
		e.plan.keepPromises(pod)
	}
	e.follow(before)
	if index < 0 {
		index = e.evictFor(pod, deadline)
	}
	return index
}

// against counts the nodes by what is against a pod there though all go that may, nil when time is up.
func (e *Evictions) against(pod *cluster.Pod, deadline time.Time) []Objection {
	k, nodes := e.evictor(pod), map[string]int{}
	for node := range e.plan.Snapshot().Nodes() {
		if e.plan.past(deadline) {
			return nil
		}
		freed := e.plan.Node(node.Index)
		for _, v := range e.on(node.Index) {
			if !v.gone {
				freed = freed.WithoutPod(v.pod.UID)
			}
		}
		if reason := k.judge.Objection(freed); reason != "" {
			nodes[reason]++
		}
	}
	return sorted(nodes)
}

// follow takes in the moves of the plan after a number of them.
func (e *Evictions) follow(moves int) {
	for _, m := range e.plan.Since(moves) {
		e.changed = append(e.changed, m.Node)
	}
}

// evictFor has pods evicted where that costs least, and puts the pod there; -1 when it fits
// nowhere.
func (e *Evictions) evictFor(pod *cluster.Pod, deadline time.Time) int32 {
	k := e.evictor(pod)
	index, victims := k.cheapest(e, deadline)
	if index >= 0 {
		e.evict(victims, pod, index)
	}
	return index
}

// evict has pods of a node evicted and puts another one there.
func (e *Evictions) evict(victims []*evictee, pod *cluster.Pod, index int32) {
	for _, v := range victims {
		v.gone = true
		e.evicted = append(e.evicted, v)
		e.plan.Take(v.pod, index)
		for _, limit := range v.count(+1) {
			e.changed = append(e.changed, limit.nodes...) // there it costs less from now on
		}
	}
	e.plan.Put(pod, index)
	e.changed = append(e.changed, index)
}

// Victims returns the pods that have to go so that the placed pods can be where they are, the victims of one
// node together and its most important ones first. None of them could stay: the pods on its node would not fit
// any more. It returns false when not all placed pods fit in the end, each as if the others were there already.
func (e *Evictions) Victims() (victims []Victim, ok bool) {
	if !e.proven() {
		return nil, false
	}
	evicted := map[*Limit]int{}
	for _, index := range slices.Sorted(maps.Keys(e.evictees)) {
		for _, v := range e.evictees[index] {
			if v.gone {
				victims = append(victims, Victim{Pod: v.pod, Node: index, Leaving: v.Leaving, Violates: v.violates(evicted)})
			}
		}
	}
	return victims, true
}

// proven spares who need not go, and reports whether all placed pods fit where they are.
func (e *Evictions) proven() bool {
	e.spare()
	return !slices.ContainsFunc(e.placed, func(place Place) bool { return !e.stands(place) })
}

// spare gives back what more room for others has made unnecessary.
func (e *Evictions) spare() {
	on := map[int32][]Place{}
	for _, place := range e.placed {
		on[place.Node] = append(on[place.Node], place)
	}
	for _, index := range slices.Sorted(maps.Keys(on)) {
		var gone []*evictee
		for _, v := range e.evictees[index] {
			if v.gone {
				v.count(-1)
				gone = append(gone, v)
			}
		}
		for _, v := range dearestFirst(gone) {
			e.plan.Put(v.pod, index)
			if slices.ContainsFunc(on[index], func(place Place) bool { return !e.stands(place) }) {
				e.plan.Take(v.pod, index)
				v.count(+1)
			} else {
				v.gone = false
			}
		}
	}
}

// stands reports whether a pod that was placed fits there, as if it were the last one to come: room
// that is promised to less important ones is free to it.
func (e *Evictions) stands(place Place) bool {
	k := e.evictor(place.Pod)
	node := e.plan.Node(place.Node)
	before := node.WithoutPod(place.Pod.UID)
	for _, pod := range e.plan.keptBelow(place.Pod) {
		before = before.WithoutPod(pod.UID)
	}
	return k.judge.FitsIn(before)
}

// NodeEvictions finds the pods that have to go from a node so that one more pod fits there: the rule of
// [Evictions] for one node by itself. It belongs to one goroutine.
type NodeEvictions struct{ terms terms }

// NewNodeEvictions searches on a snapshot. may says which pods may be evicted.
func NewNodeEvictions(snap *cluster.Snapshot, may func(*cluster.Pod) (Eviction, bool)) *NodeEvictions {
	return &NodeEvictions{newTerms(snap, may)}
}

// Victims returns the pods of a node that have to go so that one more fits, the most important first; none when it does not
// fit even without all that may go, and when nobody has to. fits says whether it fits the node in another state.
func (n *NodeEvictions) Victims(fits func(*cluster.Node) bool, node *cluster.Node) (victims []Victim) {
	chosen := choose(fits, node, n.terms.evictees(node))
	slices.SortStableFunc(chosen, func(a, b *evictee) int { return ByImportance(a.pod, b.pod) })
	evicted := map[*Limit]int{}
	for _, v := range chosen {
		victims = append(victims, Victim{Pod: v.pod, Node: node.Index, Leaving: v.Leaving, Violates: v.violates(evicted)})
	}
	return victims
}

// evictor knows for pods of one kind what room on every node would cost.
type evictor struct {
	judge  *scenario.Judge
	seen   int     // how many of the changed nodes the offers know
	offers []offer // in the order of the nodes that pods may come to
	made   int     // how many moves there were when all offers were made
}

// offer is room on a node.
type offer struct {
	cost    cost
	victims []*evictee // nil when there is no offer
}

// evictor returns the evictor for pods of the same kind, as planned so far.
func (e *Evictions) evictor(pod *cluster.Pod) *evictor {
	kind := e.plan.kinds.of(pod)
	k := e.kinds[kind]
	if k == nil {
		k = &evictor{judge: e.plan.Judge(e.plan.store.Profile.Judge(pod, e.plan.Snapshot())), made: -1}
		e.kinds[kind] = k
	}
	return k
}

// cheapest returns the node with the best offer, and the pods that have to go from there; -1 when there is
// none.
//
// A change of one node may turn offers of others, if predicates span nodes. So the best offer is looked at
// again before it is taken, and all are when there is none.
func (k *evictor) cheapest(e *Evictions, deadline time.Time) (index int32, victims []*evictee) {
	if k.offers == nil {
		k.makeAll(e, deadline)
	}
	for _, index := range e.changed[k.seen:] {
		if at, is := e.among.at[index]; is {
			k.offers[at] = k.offer(e, index)
		}
	}
	k.seen = len(e.changed)
	for !e.plan.past(deadline) {
		best := k.best()
		if best < 0 {
			if k.made == e.plan.Moves() {
				break
			}
			k.makeAll(e, deadline)
			continue
		}
		before, index := k.offers[best], e.among.nodes[best]
		k.offers[best] = k.offer(e, index)
		if now := k.offers[best]; now.victims != nil && now.cost == before.cost {
			return index, now.victims
		}
	}
	return -1, nil
}

func (k *evictor) makeAll(e *Evictions, deadline time.Time) {
	k.offers = make([]offer, len(e.among.nodes))
	k.made, k.seen = e.plan.Moves(), len(e.changed)
	for at, index := range e.among.nodes {
		if e.plan.past(deadline) {
			return
		}
		k.offers[at] = k.offer(e, index)
	}
}

// best returns which offer is the cheapest, -1 when there is none.
func (k *evictor) best() int {
	best := -1
	for i := range k.offers {
		if k.offers[i].victims != nil && (best < 0 || k.offers[i].cost.compare(&k.offers[best].cost) < 0) {
			best = i
		}
	}
	return best
}

// offer returns the cheapest set of evictions on a node that makes room there. Where some nodes alone are looked at, room that is
// free is one of no evictions.
func (k *evictor) offer(e *Evictions, index int32) offer {
	if e.plan.avoided[index] {
		return offer{}
	}
	if e.among != e.all && k.judge.Fits(index) {
		return offer{victims: []*evictee{}}
	}
	var all []*evictee
	for _, v := range e.on(index) {
		if !v.gone {
			all = append(all, v)
		}
	}
	victims := choose(k.judge.FitsIn, e.plan.Node(index), all)
	return offer{costOf(victims), victims}
}

// choose takes all pods that may be evicted away from a node, then gives back all that still fit, the dearest
// ones first (SelectVictimsOnNode in pkg/scheduler/framework/plugins/defaultpreemption). It returns the pods
// that have to go so that one more pod fits, nil when that pod does not fit even without all of them.
func choose(fits func(*cluster.Node) bool, node *cluster.Node, all []*evictee) (victims []*evictee) {
	freed := node
	for _, v := range all {
		freed = freed.WithoutPod(v.pod.UID)
	}
	if len(all) == 0 || !fits(freed) {
		return nil
	}
	for _, v := range dearestFirst(all) {
		if back := freed.WithPod(v.pod); fits(back) {
			freed = back
		} else {
			victims = append(victims, v)
		}
	}
	return victims
}
