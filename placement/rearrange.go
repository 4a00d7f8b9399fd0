package placement

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

const (
	// mostKinds is how many kinds of pods may be rearranged: of each kind it is known at a time what every node says.
	mostKinds = 32
	// mostNodes is how many nodes are tried for one pod with the same pods on nodes before it.
	mostNodes = 16
	// leastLooks is how often a pod is held against a node, at least, before a search is given up.
	leastLooks = 1 << 17
	// manyScans is how often all nodes are looked at, besides once for each pod that minds others.
	manyScans = 100
)

// rearrangement is a search for places of enough pods of all groups, where the best nodes in the order of the pods do not do.
//
// It places the pods that need most first, each on the node that it leaves fullest, and goes back when a pod has no place. A
// pod that has none comes earlier in the next turn, which may go back more often. Such restarts solve small cases exactly, and
// large ones often in the first turn (Boussemart et al., "Boosting Systematic Search by Weighting Constraints", ECAI 2004).
// Two pods that are alike are not tried in the place of each other.
//
// Pods with a required affinity begin with the domain that holds them with the least to spare, and with another one each turn.
type rearrangement struct {
	plan     *Plan
	demands  []Demand
	deadline time.Time
	worth    worth
	blame    map[*cluster.Pod]int // how often a pod had no place
	places   map[*cluster.Pod]int32
	domains  map[predicates.Class]*domains // nil for kinds without a required affinity
	picked   [][]*cluster.Pod              // of each group, in the present turn
	turn     int
	looks    int  // how often a pod may still be held against a node
	returns  int  // how often the present turn may still go back
	cut      bool // the present turn has left something out
}

// rearrange returns places for the least number of pods of each group, with which the plan goes on. It returns nil when it finds
// none, and whether it has left something untried.
func (p *Plan) rearrange(demands []Demand, deadline time.Time) (outcomes []Outcome, cut bool) {
	r := &rearrangement{
		plan: p, demands: demands, deadline: deadline, blame: map[*cluster.Pod]int{}, places: map[*cluster.Pod]int32{},
	}
	if !r.promises() {
		return nil, false
	}
	worth := r.worth
	for !r.over() {
		r.turn++
		r.returns, r.cut = 1<<min(r.turn, 16), false
		r.worth = worth
		if r.turn > 1 {
			r.worth = worth.otherwise(r.plan.random)
		}
		pods, all := r.chosen()
		if r.place(pods, candidates{}) {
			return r.outcomes(), false
		}
		if all && !r.cut {
			return nil, false
		}
	}
	return nil, true
}

// promises reports whether other orders and nodes may do, and prepares for the search. They do not where the pods ask for
// more than is free, nor where all are alike and none of them minds the others.
func (r *rearrangement) promises() bool {
	var pods []*cluster.Pod
	for _, d := range r.demands {
		if d.AtLeast > len(d.Pods) {
			return false
		}
		pods = append(pods, d.Pods...)
	}
	kinds := map[predicates.Class][]*cluster.Pod{}
	for _, pod := range pods {
		kind := r.plan.kinds.of(pod)
		kinds[kind] = append(kinds[kind], pod)
	}
	if len(kinds) > mostKinds || len(pods) == 0 || len(kinds) == 1 && !mindsOthers(pods[0]) {
		return false
	}
	if r.worth = newWorth(r.plan, pods); !r.worth.covers(r.demands) {
		return false
	}
	r.domains = map[predicates.Class]*domains{}
	for kind, alike := range kinds {
		r.domains[kind] = newDomains(r.plan, alike[0], len(alike))
	}
	scans := manyScans
	for _, pod := range pods {
		if mindsOthers(pod) {
			scans++
		}
	}
	r.looks = max(leastLooks, scans*r.plan.Snapshot().NodeCount())
	return true
}

// mindsOthers reports whether it matters to a pod, beyond room, where pods like it are.
func mindsOthers(pod *cluster.Pod) bool {
	return pod.Affinity != nil || len(pod.Spec.TopologySpreadConstraints) > 0 || len(pod.Spec.ResourceClaims) > 0
}

func (r *rearrangement) over() bool { return r.looks <= 0 || r.plan.past(r.deadline) }

// chosen returns the pods of the present turn in its order, and whether they are all that there are.
func (r *rearrangement) chosen() (pods []*cluster.Pod, all bool) {
	r.picked, all = r.picked[:0], true
	for _, d := range r.demands {
		picked := r.easiest(d)
		r.picked, pods = append(r.picked, picked), append(pods, picked...)
		all = all && (d.AtLeast <= 0 || d.AtLeast == len(d.Pods))
	}
	slices.SortStableFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(
			cmp.Compare(r.blame[b], r.blame[a]), cmp.Compare(r.worth.of(&b.Requests), r.worth.of(&a.Requests)),
		)
	})
	return pods, all
}

// easiest returns the least number of pods of a group: the pods that ask for least, and every other turn the pods that lacked a
// place least often.
func (r *rearrangement) easiest(d Demand) []*cluster.Pod {
	pods := slices.Clone(d.Pods)
	slices.SortStableFunc(pods, func(a, b *cluster.Pod) int {
		blame := 0
		if r.turn%2 == 0 {
			blame = cmp.Compare(r.blame[a], r.blame[b])
		}
		return cmp.Or(blame, cmp.Compare(r.worth.of(&a.Requests), r.worth.of(&b.Requests)))
	})
	return pods[:max(d.AtLeast, 0)]
}

// place puts pods on nodes in their order. It reports false, with none of them on a node, if it finds no way. Before
// are the candidates of the pod before them.
func (r *rearrangement) place(pods []*cluster.Pod, before candidates) bool {
	if len(pods) == 0 {
		return true
	}
	pod, plan, kept := pods[0], r.plan, r.plan.kept
	plan.keepPromises(pod)
	to := r.candidatesFor(pod, before)
	for i, candidate := range to.nodes {
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
	r.blame[pod]++
	plan.breakPromises(kept)
	return false
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

// candidatesFor returns the nodes to try for a pod. Behind a pod like it that minds nobody only the node has changed to which
// that has come, so the others need no second look.
func (r *rearrangement) candidatesFor(pod *cluster.Pod, before candidates) candidates {
	batch, kind := r.plan.batch(pod), r.plan.kinds.of(pod)
	to := candidates{kind: kind}
	if kind == before.kind {
		to.but = before.but
	}
	look := func(index int32) {
		r.looks--
		if slices.Contains(to.but, index) || r.plan.avoided[index] || batch.trial.Verdict(index) != predicates.Fits {
			return
		}
		to.add(candidate{index, r.domains[kind].rank(index, r.turn) + r.worth.left(r.plan.Node(index), pod)})
	}
	if kind == before.kind && !mindsOthers(pod) {
		to.cut = before.cut
		for _, c := range before.nodes {
			if c.index == before.taken {
				look(c.index)
			} else if !slices.Contains(to.but, c.index) {
				to.add(c)
			}
		}
	}
	if len(to.nodes) == 0 && (to.cut || kind != before.kind || mindsOthers(pod)) {
		to.cut = false
		for node := range r.plan.Snapshot().Nodes() {
			look(node.Index)
		}
	}
	r.cut = r.cut || to.cut
	return to
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

// worth rates amounts by how scarce each resource is: by how much of what is free the pods of a search ask for.
type worth struct {
	free   cluster.Resources // on all nodes together
	cpu    float64           // of a thousandth of a CPU
	memory float64           // of a byte
	scalar []scalarWorth     // the ones that pods ask for
}

type scalarWorth struct {
	name cluster.ScalarName
	each float64
}

func newWorth(plan *Plan, pods []*cluster.Pod) worth {
	w := worth{}
	for node := range plan.Snapshot().Nodes() {
		free := room(plan.Node(node.Index))
		w.free = w.free.Plus(&free)
	}
	asked := cluster.Resources{}
	for _, pod := range pods {
		asked = asked.Plus(&pod.Requests)
	}
	rate := func(asked, free int64) float64 {
		if free <= 0 {
			return float64(asked) * nothingFree
		}
		return float64(asked) / float64(free) / float64(free)
	}
	w.cpu, w.memory = rate(asked.MilliCPU, w.free.MilliCPU), rate(asked.Memory, w.free.Memory)
	for _, s := range asked.Scalars {
		w.scalar = append(w.scalar, scalarWorth{s.Name, rate(s.Amount, w.free.Scalar(s.Name))})
	}
	return w
}

// otherwise returns a rating in which each resource is worth up to four times as much, or as little.
func (w worth) otherwise(random *rand.Rand) worth {
	by := func() float64 { return math.Exp2(4*random.Float64() - 2) }
	w.cpu, w.memory = w.cpu*by(), w.memory*by()
	w.scalar = slices.Clone(w.scalar)
	for i := range w.scalar {
		w.scalar[i].each *= by()
	}
	return w
}

// nothingFree makes what no node has the scarcest.
const nothingFree = 1e6

// room returns what is free on a node of the resources that are rated.
func room(node *cluster.Node) cluster.Resources {
	free := cluster.Resources{
		MilliCPU: max(0, node.Allocatable.MilliCPU-node.Requested.MilliCPU), Memory: max(0, node.Allocatable.Memory-node.Requested.Memory),
	}
	for _, s := range node.Allocatable.Scalars {
		if amount := s.Amount - node.Requested.Scalar(s.Name); amount > 0 {
			free.Scalars = append(free.Scalars, cluster.Scalar{Name: s.Name, Amount: amount})
		}
	}
	return free
}

// covers reports whether enough of every resource is free, if of each group the pods come that ask for least of it.
func (w *worth) covers(demands []Demand) bool {
	amount := func(of func(*cluster.Resources) int64) bool {
		sum := int64(0)
		for _, d := range demands {
			amounts := make([]int64, len(d.Pods))
			for i, pod := range d.Pods {
				amounts[i] = of(&pod.Requests)
			}
			slices.Sort(amounts)
			for _, amount := range amounts[:max(d.AtLeast, 0)] {
				sum = quantity.Sum(sum, amount)
			}
		}
		return sum <= of(&w.free)
	}
	for _, s := range w.scalar {
		if !amount(func(r *cluster.Resources) int64 { return r.Scalar(s.name) }) {
			return false
		}
	}
	return amount(func(r *cluster.Resources) int64 { return r.MilliCPU }) && amount(func(r *cluster.Resources) int64 { return r.Memory })
}

// of returns what an amount is worth.
func (w *worth) of(r *cluster.Resources) float64 {
	sum := w.cpu*float64(r.MilliCPU) + w.memory*float64(r.Memory)
	for _, s := range w.scalar {
		sum += s.each * float64(r.Scalar(s.name))
	}
	return sum
}

// left rates what is left on a node when a pod comes there, from 0 to less than 1.
func (w *worth) left(node *cluster.Node, pod *cluster.Pod) float64 {
	free := room(node)
	left := max(0, w.of(&free)-w.of(&pod.Requests))
	return left / (1 + left)
}
