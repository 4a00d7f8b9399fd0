package planner

import (
	"cmp"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// rehearsal carries moves out on the model of the cluster, where the predicates, the problem's bars and the
// wishes have their say. In between, the model is as the cluster was before the plan.
type rehearsal struct {
	*state

	world *scenario.Scenario
	kinds *kinds
	bars  func(pod *cluster.Pod, node *cluster.Node) bool
}

// objection is the kind of reason against an item that comes to its node.
type objection uint8

const (
	nothing objection = iota
	lacksRoom
	another
)

// eligible reports whether a node is one to go to, and neither the problem bars a pod from it nor a wish leaves
// that out.
func (r *rehearsal) eligible(i *item, node *cluster.Node) bool {
	if r.noTarget[node.Index] != "" || !i.near.takes(node.Index) {
		return false
	}
	if r.bars(i.pod, r.world.Snapshot().Node(node.Index)) {
		return false
	}
	return i.wish == nil || i.wish.To(node) && i.wish.Worth(r.world.Node(i.origin), node)
}

// prove carries a sequence out. It returns the order in which that works, and the items that would have to
// come to nodes which do not take them.
func (r *rehearsal) prove(order []int32) (proven, objected []int32) {
	before := r.world.Moves()
	defer func() { r.world.Undo(before) }()
	leaving := map[int32]int{}
	for _, at := range r.gone {
		leaving[r.items[at].origin]++
	}
	left := slices.Clone(order)
	for len(left) > 0 {
		first := len(proven)
		left = slices.DeleteFunc(left, func(at int32) bool {
			i := &r.items[at]
			if i.pending() && leaving[i.at] > 0 || r.come(i) != nothing {
				return false
			}
			if !i.pending() {
				leaving[i.origin]--
			}
			proven = append(proven, at)
			return true
		})
		if len(proven) == first {
			return proven, r.objected(left)
		}
	}
	return proven, nil
}

// come has an item come to its node in the world. When something is against it, it stays where it was.
func (r *rehearsal) come(i *item) objection {
	before := r.world.Moves()
	if !i.pending() {
		r.world.Take(i.pod, i.origin)
	}
	verdict := r.kinds.kindOf(i).judge(r.world).Verdict(i.at)
	i.awaits = false
	if verdict != predicates.Fits && i.pending() && r.leaving.frees[i.at] != nil {
		r.leaving.depart(r.world, i.at)
		verdict, i.awaits = r.kinds.kindOf(i).judge(r.world).Verdict(i.at), true
		r.world.Undo(before)
	}
	switch {
	case verdict.OfRoom():
		r.world.Undo(before)
		return lacksRoom
	case verdict != predicates.Fits || !r.eligible(i, r.world.Node(i.at)):
		r.world.Undo(before)
		return another
	}
	r.world.Put(r.kinds.anew(i), i.at)
	return nothing
}

// objected returns the items with an objection other than a lack of room, or the first item when there is none.
func (r *rehearsal) objected(left []int32) []int32 {
	var objected []int32
	for _, at := range left {
		before := r.world.Moves()
		if r.come(&r.items[at]) == another {
			objected = append(objected, at)
		}
		r.world.Undo(before)
	}
	if len(objected) == 0 {
		return left[:1]
	}
	return objected
}

// carryOut brings all that is away to where it is planned, in the world.
func (r *rehearsal) carryOut() {
	for _, at := range r.gone {
		i := &r.items[at]
		r.world.Take(i.pod, i.origin)
		if i.at >= 0 {
			r.world.Put(r.kinds.anew(i), i.at)
		}
	}
}

// place returns where an item is, with all that is planned so far, and once those have gone that leave by themselves.
func (r *rehearsal) place(at int32) Place {
	i := &r.items[at]
	before := r.world.Moves()
	defer func() { r.world.Undo(before) }()
	r.carryOut()
	r.leaving.depart(r.world, r.leaving.nodes...)
	return Place{Node: r.world.Node(i.at), Against: func() []predicates.Objection {
		before := r.world.Moves()
		defer func() { r.world.Undo(before) }()
		r.carryOut()
		r.leaving.depart(r.world, r.leaving.nodes...)
		return r.kinds.kindOf(i).judge(r.world).Against(i.pod, i.at)
	}}
}

// favourite returns that of the nodes which the scores of its profile prefer for an item, with all that is
// planned so far; -1 when none takes it.
func (r *rehearsal) favourite(i *item, nodes []int32) int32 {
	before := r.world.Moves()
	defer func() { r.world.Undo(before) }()
	r.carryOut()
	k := r.kinds.kindOf(i)
	judgement := r.world.Judge(k.profile.Judge(k.pod, r.world.Snapshot())).Judgement()
	nodes = slices.DeleteFunc(nodes, func(index int32) bool {
		node := r.world.Node(index)
		return !r.eligible(i, node) || judgement.Verdict(node) != predicates.Fits
	})
	totals := make([]int64, len(nodes))
	judgement.Rank(nodes, totals)
	best := int32(-1)
	for n, highest := 0, int64(-1); n < len(nodes); n++ {
		if totals[n] > highest {
			best, highest = nodes[n], totals[n]
		}
	}
	return best
}

// objects returns the first reason against an item on a node, room aside.
func (r *rehearsal) objects(i *item, node int32) string {
	reason := ""
	judgement := r.kinds.kindOf(i).judge(r.world).Judgement()
	judgement.Verdicts(r.world.Node(node), func(v predicates.Verdict) {
		if reason == "" && !v.OfRoom() {
			reason = judgement.Reason(v)
		}
	})
	return cmp.Or(reason, ReasonNotEligible)
}

// hopeless returns the first reason why no pod that goes would make a node one for an item, "" when only what is planned
// objects there.
func (r *rehearsal) hopeless(i *item, node int32) string {
	reason := ""
	judgement := r.kinds.kindOf(i).judge(r.world).Judgement()
	judgement.Verdicts(r.world.Node(node), func(v predicates.Verdict) {
		if reason == "" && !v.Resolvable() {
			reason = judgement.Reason(v)
		}
	})
	return reason
}
