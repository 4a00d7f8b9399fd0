package placement

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

const (
	// mostKinds bounds the kinds of pods that are rearranged: a search remembers a verdict on each node for each kind.
	mostKinds = 32
	// mostNodes bounds the nodes tried for one pod with the same pods on nodes before it.
	mostNodes = 16
	// leastLooks is how often pods are held against nodes, at least, before a search is given up.
	leastLooks = 1 << 17
	// manyScans is how often all nodes are looked at, besides once for each pod that minds others.
	manyScans = 100
)

// rearrangement is a search for places of enough pods of all groups, where the best nodes in the order of the pods do not do.
//
// It places the pods that need most first, each on the node that it leaves fullest, and goes back when a pod has no place. A
// kind of pods that has none comes earlier in the next turn, which may go back more often and rates the resources a little
// differently. Such restarts solve small cases exactly, and large ones often in the first turn (Boussemart et al., "Boosting
// Systematic Search by Weighting Constraints", ECAI 2004). Two pods that are alike are not tried in the place of each other.
//
// Pods that need others near them come behind the others. Pods that need each other begin with the domain that holds them with
// the least to spare, and with another one each turn.
type rearrangement struct {
	plan     *Plan
	demands  []Demand // without pods where none have to have places
	deadline time.Time
	worth    worth
	kinds    map[predicates.Class]*kind
	minding  bool // some of them mind others
	places   map[*cluster.Pod]int32
	picked   [][]*cluster.Pod // of each group, in the present turn
	turn     int
	looks    int  // how often a pod may still be held against a node
	returns  int  // how often the present turn may still go back
	cut      bool // the present turn has left something out
}

// kind is pods that are alike.
type kind struct {
	pods    []*cluster.Pod // in their order
	minds   bool           // it matters to them on which other nodes pods of the kinds are
	behind  bool           // they need others near them that are not like them
	domains *domains       // nil for pods that need none near
	blame   int            // how often one of them had no place
}

// urgency returns how early pods of the kind come. To come earlier does not help a pod that lacks another one near it.
func (k *kind) urgency() int {
	if k.behind {
		return -k.blame
	}
	return k.blame
}

// rearrange returns places for the least number of pods of each group, with which the plan goes on. It returns nil when it finds
// none, whether it has left something untried, and whether it did for lack of time.
func (p *Plan) rearrange(demands []Demand, deadline time.Time) (found []Outcome, cut, late bool) {
	r := &rearrangement{plan: p, deadline: deadline, kinds: map[predicates.Class]*kind{}, places: map[*cluster.Pod]int32{}}
	for _, d := range demands {
		if d.AtLeast <= 0 {
			d = Demand{}
		}
		r.demands = append(r.demands, d)
	}
	if !r.promises() {
		return nil, false, false
	}
	worth, kept := r.worth, p.kept
	for !r.over() {
		r.turn++
		r.returns, r.cut = 1<<min(r.turn, 16), false
		if r.turn > 1 {
			r.worth = worth.otherwise(p.random)
		}
		pods, all := r.chosen()
		switch placed := r.place(pods, candidates{}); {
		case placed && r.inOrder(pods):
			return r.outcomes(), false, false
		case placed: // another turn may find the like of it
			p.breakPromises(kept)
			r.looks /= 2
		case all && !r.cut && !r.minding:
			return nil, false, false
		}
	}
	return nil, true, p.past(deadline)
}

// promises reports whether other orders and nodes may do, and prepares for the search. They do not where the pods ask for
// more than is free, where all are alike and do not mind each other, or where a kind has too little room for itself.
func (r *rearrangement) promises() bool {
	var pods []*cluster.Pod
	var kinds []*kind // in an order: each draws a number
	all := true
	for _, d := range r.demands {
		if d.AtLeast > len(d.Pods) {
			return false
		}
		pods = append(pods, d.Pods...)
		all = all && d.AtLeast == len(d.Pods)
	}
	for _, pod := range pods {
		class := r.plan.kinds.of(pod)
		if r.kinds[class] == nil {
			r.kinds[class] = &kind{}
			kinds = append(kinds, r.kinds[class])
		}
		r.kinds[class].pods = append(r.kinds[class].pods, pod)
	}
	if len(kinds) == 0 || len(kinds) > mostKinds {
		return false
	}
	if r.worth = newWorth(r.plan, pods); !r.worth.covers(r.demands) { // before each kind is held against all nodes
		return false
	}
	scans := manyScans
	for _, k := range kinds {
		trial := r.plan.batch(k.pods[0]).trial
		k.minds = slices.ContainsFunc(kinds, func(other *kind) bool {
			return trial.Minds(other.pods[0], r.plan.kinds.of(other.pods[0]))
		})
		if k.minds {
			r.minding, scans = true, scans+len(k.pods)
			k.domains, k.behind = newDomains(r.plan, k.pods[0], len(k.pods)), needsOthers(k.pods[0])
		}
	}
	r.looks = max(leastLooks, scans*r.plan.Snapshot().NodeCount())
	return (len(kinds) > 1 || r.minding) &&
		!(all && slices.ContainsFunc(kinds, func(k *kind) bool { return !k.minds && !r.roomFor(k) }))
}

// roomFor reports whether all pods of a kind would have places if there were no others.
func (r *rearrangement) roomFor(k *kind) bool {
	trial, slots := r.plan.batch(k.pods[0]).trial, 0
	for node := range r.plan.Snapshot().Nodes() {
		if !r.plan.avoided[node.Index] && trial.Verdict(node.Index) == predicates.Fits {
			if slots += max(1, Slots(r.plan.Node(node.Index), k.pods[0])); slots >= len(k.pods) {
				return true
			}
		}
	}
	return false
}

// needsOthers reports whether a pod has to be near pods that are not like it.
func needsOthers(pod *cluster.Pod) bool {
	return pod.Affinity != nil && slices.ContainsFunc(pod.Affinity.Required, func(term cluster.AffinityTerm) bool {
		return !term.Matches(pod, nil)
	})
}

func (r *rearrangement) kind(pod *cluster.Pod) *kind { return r.kinds[r.plan.kinds.of(pod)] }

func (r *rearrangement) over() bool { return r.looks <= 0 || r.plan.past(r.deadline) }

// chosen returns the pods of the present turn in its order, and whether no others could have been chosen.
func (r *rearrangement) chosen() (pods []*cluster.Pod, all bool) {
	r.picked, all = r.picked[:0], true
	for _, d := range r.demands {
		picked := r.easiest(d)
		r.picked, pods = append(r.picked, picked), append(pods, picked...)
		all = all && (d.AtLeast == len(d.Pods) || r.areAlike(d.Pods))
	}
	slices.SortStableFunc(pods, func(a, b *cluster.Pod) int {
		this, that := r.kind(a), r.kind(b)
		return cmp.Or(
			compare(this.behind, that.behind), cmp.Compare(that.urgency(), this.urgency()),
			cmp.Compare(r.worth.of(&b.Requests), r.worth.of(&a.Requests)),
			cmp.Compare(this.pods[0].UID, that.pods[0].UID), // pods that are alike stay together
		)
	})
	return pods, all
}

// compare sorts false before true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func (r *rearrangement) areAlike(pods []*cluster.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *cluster.Pod) bool { return r.kind(pod) != r.kind(pods[0]) })
}

// easiest returns the least number of pods of a group, in their order: the pods that ask for least, and every other turn the
// kinds that lacked a place least often.
func (r *rearrangement) easiest(d Demand) []*cluster.Pod {
	sorted := slices.Clone(d.Pods)
	slices.SortStableFunc(sorted, func(a, b *cluster.Pod) int {
		blame := 0
		if r.turn%2 == 0 {
			blame = cmp.Compare(r.kind(a).blame, r.kind(b).blame)
		}
		return cmp.Or(blame, cmp.Compare(r.worth.of(&a.Requests), r.worth.of(&b.Requests)))
	})
	picked := sets.New(sorted[:d.AtLeast]...)
	return slices.DeleteFunc(slices.Clone(d.Pods), func(pod *cluster.Pod) bool { return !picked.Has(pod) })
}

// place puts pods on nodes in their order. It reports false, with none of them on a node, if it finds no way. Before
// are the candidates of the pod before them.
func (r *rearrangement) place(pods []*cluster.Pod, before candidates) bool {
	if len(pods) == 0 {
		return true
	}
	if r.over() {
		r.cut = true
		return false
	}
	pod, plan, kept := pods[0], r.plan, r.plan.kept
	if plan.keepPromises(pod); plan.kept != kept {
		before.kind = predicates.Class{} // they may be on any node
	}
	to := r.candidatesFor(pod, before)
	for i, candidate := range to.nodes {
		r.looks -= len(r.kinds) // each hears of it
		plan.Put(pod, candidate.index)
		r.places[pod] = candidate.index
		if r.place(pods[1:], to.after(i)) {
			return true
		}
		plan.Take(pod, candidate.index) // to undo the moves of all pods behind it again would double the moves each time
		if r.returns--; r.returns < 0 || r.over() {
			r.cut = true
			break
		}
	}
	r.kind(pod).blame++
	plan.breakPromises(kept)
	return false
}

// inOrder has the pods of each kind take the places of the kind in their order, which is kube-scheduler's. It reports false,
// with none of them on a node, if one does not fit when its turn comes: it may have the device by then that another one needs.
func (r *rearrangement) inOrder(pods []*cluster.Pod) bool {
	nodes := map[*kind][]int32{}
	for _, pod := range pods {
		k := r.kind(pod)
		nodes[k] = append(nodes[k], r.places[pod])
		r.plan.Take(pod, r.places[pod])
	}
	var placed []*cluster.Pod
	for _, pod := range slices.Concat(r.picked...) {
		k := r.kind(pod)
		index := nodes[k][0]
		if r.plan.batch(pod).trial.Verdict(index) != predicates.Fits {
			for _, pod := range placed {
				r.plan.Take(pod, r.places[pod])
			}
			return false
		}
		r.plan.Put(pod, index)
		r.places[pod], nodes[k], placed = index, nodes[k][1:], append(placed, pod)
	}
	return true
}

// candidates are nodes to try for pods of a kind.
type candidates struct {
	kind  predicates.Class
	nodes []candidate // the best first
	cut   bool        // there are more of them
	but   []int32     // nodes that were tried for pods of the kind with the same pods on nodes before them
	taken int32       // the node that the pod before has come to
}

type candidate struct {
	index int32
	cost  float64
}

// after returns what the next pod starts from when one has come to the i-th node.
func (c *candidates) after(i int) candidates {
	next := *c
	next.but, next.taken = slices.Clone(c.but), c.nodes[i].index
	for _, tried := range c.nodes[:i] {
		next.but = append(next.but, tried.index)
	}
	return next
}

// add enters a node. Of too many the worst goes.
func (c *candidates) add(next candidate) {
	place, _ := slices.BinarySearchFunc(c.nodes, next, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	if len(c.nodes) == mostNodes {
		c.cut = true
		if place == mostNodes {
			return
		}
		c.nodes = c.nodes[:mostNodes-1]
	}
	c.nodes = slices.Insert(c.nodes, place, next)
}

// candidatesFor returns the nodes to try for a pod.
func (r *rearrangement) candidatesFor(pod *cluster.Pod, before candidates) candidates {
	to, trial := candidates{kind: r.plan.kinds.of(pod)}, r.plan.batch(pod).trial
	alike, minds := to.kind == before.kind, r.kind(pod).minds
	if alike {
		to.but = before.but
	}
	if alike && !minds {
		r.carry(&to, pod, trial, before)
	}
	if len(to.nodes) == 0 && (to.cut || !alike || minds) {
		to.cut = false
		for node := range r.plan.Snapshot().Nodes() {
			r.look(&to, pod, trial, node.Index)
		}
	}
	r.cut = r.cut || to.cut
	return to
}

// carry enters the nodes that were left to a pod alike, which does not mind others: only the node has changed to which that has
// come, so the others need no second look.
func (r *rearrangement) carry(to *candidates, pod *cluster.Pod, trial *predicates.Trial, before candidates) {
	to.cut = before.cut
	for _, c := range before.nodes {
		if c.index == before.taken {
			r.look(to, pod, trial, c.index)
		} else if !slices.Contains(to.but, c.index) {
			to.add(c)
		}
	}
}

// look enters a node if a pod fits there.
func (r *rearrangement) look(to *candidates, pod *cluster.Pod, trial *predicates.Trial, index int32) {
	r.looks--
	if slices.Contains(to.but, index) || r.plan.avoided[index] || trial.Verdict(index) != predicates.Fits {
		return
	}
	to.add(candidate{index, r.kind(pod).domains.rank(index, r.turn) + r.worth.left(r.plan.Node(index), pod)})
}

// outcomes returns what was found.
func (r *rearrangement) outcomes() []Outcome {
	outcomes := make([]Outcome, len(r.demands))
	for i, picked := range r.picked {
		o := &outcomes[i]
		o.Kept = true
		for _, pod := range picked {
			o.Places = append(o.Places, Place{Pod: pod, Node: r.places[pod]})
			o.Placed++
		}
	}
	return outcomes
}
