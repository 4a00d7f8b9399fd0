package planner

import (
	"cmp"
	"fmt"
	"slices"

	"muster.dev/muster/cluster"
)

// author puts in words what was found.
type author struct {
	*state

	snap     *cluster.Snapshot
	roster   *roster
	queue    *queue
	purposes *purposes
	refusals *refusals
	watch    *stopwatch
}

// plan makes a plan of what was proven, in that order, and of wishes.
func (a *author) plan(proven []int32, wishes []*wish) *Plan {
	snap := a.snap
	p := &Plan{Generation: snap.Generation, Cost: a.cost, Late: a.watch.late}
	placements := map[int32]int{}
	for _, at := range proven {
		if i := &a.items[at]; i.pending() {
			placements[at] = len(p.Placements)
			p.Placements = append(p.Placements, Placement{
				Pod: i.pod, Node: snap.Node(i.at), Group: a.queue.groups[i.group].Name, After: len(p.Steps), Awaits: i.awaits,
			})
			continue
		}
		p.Steps = append(p.Steps, a.step(at))
	}
	a.attribute(p, proven, placements)
	for g := range a.queue.groups {
		if group := &a.queue.groups[g]; a.queue.count(group) < max(1, group.AtLeast) {
			p.Unplaced = append(p.Unplaced, a.refusals.refuse(group))
		}
	}
	for _, w := range wishes {
		if w.item < 0 || !a.items[w.item].away() && !w.moot {
			p.Unmoved = append(p.Unmoved, a.refusals.deny(w))
		}
	}
	p.Took = a.watch.took()
	return p
}

func (a *author) step(at int32) Step {
	i := &a.items[at]
	return Step{
		Pod: i.pod, From: a.snap.Node(i.origin), To: a.snap.Node(i.at), Replacement: i.anew,
		Gang: a.roster.units[i.unit].gang, Cost: i.cost,
	}
}

// attribute names for each step the pod that it is for, and why.
func (a *author) attribute(p *Plan, proven []int32, placements map[int32]int) {
	next := 0
	moves, frees := make([]int, len(p.Placements)), map[int32]int{} // by placement, and by group
	for _, at := range proven {
		i := &a.items[at]
		if i.pending() {
			continue
		}
		step := &p.Steps[next]
		next++
		groups := map[int32]bool{}
		for other := range a.purposes.wakeOf(at).pending {
			step.For = append(step.For, placements[other])
			groups[a.items[other].group] = true
		}
		for group := range groups {
			frees[group]++
		}
		slices.Sort(step.For)
		step.Why = a.why(i)
		for _, place := range step.For {
			p.Placements[place].Cost += step.Cost
			moves[place]++
		}
	}
	for item, at := range placements {
		placement := &p.Placements[at]
		if placement.Why = placed(placement.Node, moves[at]); placement.Awaits {
			placement.Why = placement.Node.Name + " has room once pods have gone that are being deleted"
		}
		placement.Why += a.items[item].near.freed(frees[a.items[item].group])
	}
}

func placed(node *cluster.Node, moves int) string {
	switch moves {
	case 0:
		return fmt.Sprintf("%s has room", node.Name)
	case 1:
		return fmt.Sprintf("%s has room once a pod has moved", node.Name)
	default:
		return fmt.Sprintf("%s has room once %d pods have moved", node.Name, moves)
	}
}

// why names in words the pod that an item moves for.
func (a *author) why(i *item) string {
	from := a.snap.Node(i.origin).Name
	if i.isToLeave() {
		return i.wish.Why
	}
	if a.closed[i.origin] {
		return fmt.Sprintf("so that %s becomes empty", from)
	}
	var pending, moved []string
	for _, other := range a.on[i.origin] {
		switch o := &a.items[other]; {
		case o.pending():
			pending = append(pending, o.pod.FullName())
		case o.away():
			moved = append(moved, o.pod.FullName())
		}
	}
	slices.Sort(pending)
	slices.Sort(moved)
	switch {
	case len(pending) > 0:
		return fmt.Sprintf("makes room on %s for %s", from, andMore(pending))
	case len(moved) > 0:
		return fmt.Sprintf("makes room on %s for %s, which has to move there", from, andMore(moved))
	default:
		return "moves with the rest of its gang"
	}
}

func andMore(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// refusals explain why a pod gets no place, or no other one.
type refusals struct {
	*state

	roster    *roster
	standings *standings
	rehearsal *rehearsal
	watch     *stopwatch
}

// refuse returns why a group gets no place.
func (f *refusals) refuse(g *group) Refusal {
	r := Refusal{Name: g.Name, Pods: g.Pods}
	if g.Hindrance != "" {
		if r.Reason = g.Hindrance; g.Why != "" {
			r.Details = []Detail{{Reason: g.Why}}
		}
		return r
	}
	if len(g.Pods) < g.AtLeast {
		r.Reason = ReasonMembersMissing
		return r
	}
	for _, at := range g.items {
		if i := &f.items[at]; i.at < 0 {
			f.explain(&r, i, len(g.Pods))
			g.near.refuse(&r)
			break
		}
	}
	return r
}

// deny returns why a pod stays that was to leave its node.
func (f *refusals) deny(w *wish) Refusal {
	r := Refusal{Name: w.Pod.FullName(), Reason: w.fixed}
	if w.item < 0 {
		return r
	}
	i := &f.items[w.item]
	for _, member := range f.roster.units[i.unit].items {
		if !f.ledger.allows(f.items[member].accounts) {
			r.Reason = ReasonBudget
			return r
		}
	}
	f.explain(&r, i, 1)
	return r
}

// explain enters why an item gets no place, or no other one. It is one of a number of pods that are placed together.
func (f *refusals) explain(r *Refusal, i *item, together int) {
	if f.roster.kinds.kindOf(i).profile == nil {
		r.Reason = ReasonUnknownScheduler
		return
	}
	switch o := f.obstruct(r, i); {
	case o.possible == 0:
		r.Reason = ReasonNoNode
	case f.watch.late:
		r.Reason = ReasonLate
	case o.inTheWay || o.possible > windows[0]:
		r.Reason = ReasonNoHomes
	case o.free && together > 1:
		r.Reason = ReasonNotAll
	case o.free:
		r.Reason = ReasonUnproven
	case o.occupied:
		r.Reason = ReasonProtected
	default:
		r.Reason = ReasonOthersFirst
	}
}

// obstruction describes what stands in the way of an item. Only the first of the possible nodes are looked at.
type obstruction struct {
	possible int  // nodes that it could run on if pods went
	free     bool // one of them has room as it is
	inTheWay bool // one has none, and would have room if all went that may
	occupied bool // one has a pod that is there already
}

// obstruct enters what is against an item on the nodes, and returns what stands in its way.
func (f *refusals) obstruct(r *Refusal, i *item) (o obstruction) {
	against, protected := map[string]int{}, map[string]int{}
	for _, node := range f.nodes {
		switch {
		case node == i.origin:
			continue
		case f.noTarget[node] != "":
			against[f.noTarget[node]]++
			continue
		case !f.rehearsal.eligible(i, f.rehearsal.world.Node(node)):
			against[ReasonNotEligible]++
			continue
		case f.standings.of(i, node) == never:
			if reason := f.rehearsal.hopeless(i, node); reason != "" {
				against[reason]++
				continue
			}
		}
		if o.possible++; o.possible > windows[0] {
			continue
		}
		f.roster.load(node)
		for reason, pods := range f.roster.guarded[node] {
			protected[reason] += pods
		}
		free := i.needs.fitsInto(f.freeAt(node))
		o.free = o.free || free
		o.inTheWay = o.inTheWay || !free && f.wouldFit(i, node)
		o.occupied = o.occupied || len(f.roster.snap.Node(node).Pods) > 0
	}
	for reason, nodes := range against {
		r.Details = append(r.Details, Detail{Reason: reason, Nodes: nodes})
	}
	for reason, pods := range protected {
		r.Details = append(r.Details, Detail{Reason: reason, Pods: pods})
	}
	slices.SortFunc(r.Details, func(a, b Detail) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
	})
	return o
}

// wouldFit reports whether there would be room on a node if all went that may.
func (f *refusals) wouldFit(i *item, node int32) bool {
	free := slices.Clone(f.freeAt(node))
	for _, at := range f.on[node] {
		if o := &f.items[at]; !o.pending() && (o.limit <= i.limit || f.roster.rules.AllowHigherPriority) {
			o.needs.gather(free)
		}
	}
	return i.needs.fitsInto(free)
}
