package placement

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/topology"
)

// Preference is the level of a network whose one domain some pods prefer to others, 0 for none. Patient says that they rather wait.
type Preference struct {
	Level   int
	Patient bool
}

// Nearby is the result for pods that were to be placed in one domain.
type Nearby struct {
	Outcome
	// Cut says that there may be places, or cheaper ones, that were not found.
	Cut bool
	// Dear says that a domain is waited for, as there is none that costs no more than to do without it.
	Dear bool
}

// PlaceNear is [Evictions.PlaceAll] for pods that have to be in one domain of a level, the one that their network requires: in the
// domain whose victims cost the least, of the ones that are tried. Beside pods that are there already they have no choice. A domain
// of a level that they only prefer has them if that costs no more than to do without it. The network must not divide them. If fewer
// pods get a place, the search and the plan are as they were before.
func (e *Evictions) PlaceNear(pods []*cluster.Pod, atLeast int, n *Network, prefer Preference, deadline time.Time) Nearby {
	s := &domainSearch{Evictions: e, pods: pods, atLeast: atLeast, deadline: deadline, before: e.decided()}
	best, dear := s.within(n, n.Required), false
	if best != nil && prefer.Level > n.Required {
		near := s.within(n, prefer.Level)
		if near != nil && near.noDearerThan(best) {
			best = near
		} else if dear = prefer.Patient; dear {
			best = nil
		}
	}
	if best == nil {
		s.failed.Late = e.plan.past(deadline)
		return Nearby{Outcome: s.failed, Cut: s.cut, Dear: dear && s.failed.Lack == nil}
	}
	e.decide(s.before, best.decided)
	return Nearby{Outcome: best.outcome, Cut: s.cut}
}

// domainSearch seeks victims for pods in one domain after the other.
type domainSearch struct {
	*Evictions

	pods     []*cluster.Pod
	atLeast  int
	deadline time.Time
	before   decided
	failed   Outcome // what to say if no domain does
	cut      bool
}

// finding is places for all pods, and what they cost.
type finding struct {
	decided decided
	outcome Outcome
	cost    cost
}

// noDearerThan reports whether the victims of f cost no more than others, whenever each of them has started and whatever it has done.
func (f *finding) noDearerThan(other *finding) bool {
	c := f.cost
	c.earliest, c.loss = other.cost.earliest, other.cost.loss
	return c.compare(&other.cost) <= 0
}

// prospect is a domain that could have all pods if all went that may.
type prospect struct {
	nodes []int32
	bound cost // its victims cost no less
	lacks int  // places
}

// within returns the cheapest finding in one domain of a level, nil if there is none. Nothing is decided by it.
func (s *domainSearch) within(n *Network, level int) (best *finding) {
	s.failed = Outcome{}
	if level == 0 {
		best, s.failed = s.try(nil)
		return best
	}
	at := *n
	at.Required = level
	near := s.plan.near(&at, s.deadline)
	able, lack := s.prospects(near)
	for i, d := range able {
		if best != nil && best.cost.compare(&d.bound) <= 0 {
			return best
		}
		if i == mostTrials || s.plan.past(s.deadline) {
			s.cut = true
			break
		}
		found, outcome := s.try(d.nodes)
		if found != nil && (best == nil || found.cost.compare(&best.cost) < 0) {
			best = found
		}
		if i == 0 || outcome.Placed > lack.Pods {
			lack.Within, lack.Pods = d.nodes[0], outcome.Placed
		}
	}
	if best == nil && s.failed.Lack == nil {
		near.learn(&lack, 0)
		s.failed.Lack, s.failed.Placed = near.lack, lack.Pods
	}
	return best
}

// try seeks victims on some nodes, nil for all, and takes everything back. It returns nil if too few pods get a place.
func (s *domainSearch) try(nodes []int32) (found *finding, outcome Outcome) {
	if nodes != nil {
		s.among = newAmong(nodes)
		s.forget()
	}
	if outcome = s.PlaceAll(s.pods, s.atLeast, s.deadline); outcome.Kept && s.proven() {
		found = &finding{decided: s.decided(), outcome: outcome, cost: s.total()}
	}
	outcome.Kept = found != nil
	s.among = s.all
	s.undo(s.before)
	return found, outcome
}

// prospects returns the domains of the level that is required in which victims may be found, the cheapest first as far as a look
// at amounts tells, and what the others lack.
func (s *domainSearch) prospects(near *nearness) (able []*prospect, lack topology.Lack) {
	level, kinds := near.network.Required, near.kinds(s.pods)
	if len(kinds) > mostNearKinds {
		s.failed.Lack = &Lack{Kinds: len(kinds)}
		return nil, lack
	}
	lack.Within = -1
	for _, nodes := range near.tree.Domains(level) {
		if s.plan.past(s.deadline) {
			s.cut = true
			break
		}
		if slices.ContainsFunc(near.network.Beside, func(node int32) bool { return !near.tree.Near(node, nodes[0], level) }) {
			continue
		}
		lack.Domains++
		r := s.roomIn(nodes, kinds)
		switch room := r.without(anybody); {
		case room >= s.atLeast:
			able = append(able, &prospect{nodes: nodes, bound: r.bound(s.atLeast), lacks: s.atLeast - r.without(isLeaving)})
		case room > lack.Pods, lack.Within < 0:
			lack.Pods, lack.Within = room, nodes[0]
		}
	}
	slices.SortStableFunc(able, func(a, b *prospect) int { return cmp.Or(a.bound.compare(&b.bound), cmp.Compare(a.lacks, b.lacks)) })
	s.undo(s.before) // the promises that were kept to look
	return able, lack
}

// domainRoom is the room in a domain for pods of several kinds.
type domainRoom struct {
	*Evictions

	nodes []int32
	kinds [][]*cluster.Pod
	fits  [][]bool // by kind and node: if all went that may
}

func (e *Evictions) roomIn(nodes []int32, kinds [][]*cluster.Pod) *domainRoom {
	r := &domainRoom{Evictions: e, nodes: nodes, kinds: kinds, fits: make([][]bool, len(kinds))}
	for i, kind := range kinds {
		e.plan.keepPromises(kind[0])
		judge := e.evictor(kind[0]).judge
		for _, index := range nodes {
			r.fits[i] = append(r.fits[i], !e.plan.avoided[index] && judge.FitsIn(r.freed(index, anybody)))
		}
	}
	return r
}

// freed returns a node as it is once some of the pods have gone that may.
func (r *domainRoom) freed(index int32, goes func(*evictee) bool) *cluster.Node {
	node := r.plan.Node(index)
	for _, v := range r.on(index) {
		if !v.gone && goes(v) {
			node = node.WithoutPod(v.pod.UID)
		}
	}
	return node
}

// without returns for how many pods there is room once some have gone, each kind by itself: no fewer than there are places.
func (r *domainRoom) without(goes func(*evictee) bool) (room int) {
	slots := make([]int, len(r.kinds))
	for at, index := range r.nodes {
		node := r.freed(index, goes)
		for i, kind := range r.kinds {
			if r.fits[i][at] {
				slots[i] += Slots(node, kind[0])
			}
		}
	}
	for i, kind := range r.kinds {
		room += min(slots[i], len(kind))
	}
	return room
}

// bound returns a cost that is no more than the cost of any victims who leave room for a number of pods.
func (r *domainRoom) bound(atLeast int) (bound cost) {
	may := anybody
	if whole := func(v *evictee) bool { return !v.breaks() }; r.without(whole) >= atLeast {
		may = whole
	} else {
		bound.lost = 1
	}
	before := may
	if allowed := func(v *evictee) bool { return before(v) && !v.exceeds() }; r.without(allowed) >= atLeast {
		may = allowed
	} else {
		bound.Violations = 1
	}
	var priorities []int64
	for _, index := range r.nodes {
		for _, v := range r.on(index) {
			if !v.gone && !v.Leaving && may(v) {
				priorities = append(priorities, v.rank())
			}
		}
	}
	slices.Sort(priorities)
	priorities = append([]int64{0}, slices.Compact(priorities)...)
	enough := func(highest int64) bool {
		return r.without(func(v *evictee) bool { return may(v) && (v.Leaving || v.rank() <= highest) }) >= atLeast
	}
	low, high := 0, len(priorities)-1 // the last one is enough
	for low < high {
		if middle := (low + high) / 2; enough(priorities[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	bound.highest = priorities[low]
	return bound
}

func anybody(*evictee) bool { return true }

func isLeaving(v *evictee) bool { return v.Leaving }

// rank returns the highest priority of victims if this one is the only one, see [Cost].
func (v *evictee) rank() int64 {
	c := Cost{}
	c.Add(v.pod)
	return c.highest
}

// breaks reports whether to evict a pod takes away what others need, even if nobody else goes.
func (v *evictee) breaks() bool {
	return !v.Leaving && slices.ContainsFunc(v.Limits, func(l *Limit) bool { return l.Whole > 0 && l.used == l.Allowed })
}

// exceeds reports whether to evict a pod is more than its disruption budgets allow, even if nobody else goes.
func (v *evictee) exceeds() bool {
	return !v.Leaving && slices.ContainsFunc(v.Limits, func(l *Limit) bool { return l.Whole == 0 && l.used >= l.Allowed })
}

// decided says what a search has decided: who goes, and who comes.
type decided struct {
	plan   *Mark
	gone   []*evictee
	placed []Place
}

func (e *Evictions) decided() decided {
	return decided{plan: e.plan.Mark(), gone: e.gone(), placed: slices.Clone(e.placed)}
}

// gone returns all pods that go.
func (e *Evictions) gone() (gone []*evictee) {
	seen := map[*evictee]bool{}
	for _, v := range e.evicted {
		if v.gone && !seen[v] {
			seen[v], gone = true, append(gone, v)
		}
	}
	return gone
}

// undo takes back all that was decided since.
func (e *Evictions) undo(to decided) {
	e.settle(to)
	e.plan.Return(to.plan)
}

// settle has those pods go that went in a former state, and no others, as far as limits know.
func (e *Evictions) settle(to decided) {
	for _, v := range e.gone() {
		v.gone = false
		v.count(-1)
	}
	for _, v := range to.gone {
		v.gone = true
		v.count(+1)
	}
	e.evicted, e.placed = slices.Clone(to.gone), slices.Clone(to.placed)
	e.forget()
}

// decide comes from a state that was decided before to a later one.
func (e *Evictions) decide(before, then decided) {
	was, goes := sets.New(before.gone...), sets.New(then.gone...)
	for _, v := range before.gone {
		if !goes.Has(v) {
			e.plan.Put(v.pod, v.node)
		}
	}
	for _, v := range then.gone {
		if !was.Has(v) {
			e.plan.Take(v.pod, v.node)
		}
	}
	for _, place := range then.placed[len(before.placed):] {
		e.plan.keepPromises(place.Pod)
		e.plan.Put(place.Pod, place.Node)
	}
	e.settle(then)
}

// Undo takes back all that was placed, and all evictions.
func (e *Evictions) Undo() { e.undo(e.begun) }

// forget has all offers made once more.
func (e *Evictions) forget() {
	e.changed = nil
	for _, k := range e.kinds {
		k.offers, k.seen, k.made = nil, 0, -1
	}
}

// total returns the cost of all evictions.
func (e *Evictions) total() cost {
	gone := e.gone()
	for _, v := range gone {
		v.count(-1)
	}
	total := costOf(gone)
	for _, v := range gone {
		v.count(+1)
	}
	return total
}

// among are the indexes of some nodes, and the place of each in their order.
type among struct {
	nodes []int32
	at    map[int32]int
}

func newAmong(nodes []int32) *among {
	a := &among{nodes, make(map[int32]int, len(nodes))}
	for i, node := range nodes {
		a.at[node] = i
	}
	return a
}

func allNodes(snap *cluster.Snapshot) *among {
	var nodes []int32
	for node := range snap.Nodes() {
		nodes = append(nodes, node.Index)
	}
	return newAmong(nodes)
}
