package gang

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

func (p *ports) FindPlaces(s core.Search, also core.Also) core.Places {
	if why := p.lacking(s.Parts); why != "" {
		return core.Places{Why: why}
	}
	p.seed++
	started := p.clock.Now()
	pods := podsOf(s.Parts)
	plan := p.newPlan(s.Store, pods)
	defer plan.Close()
	places, without, not := placePatiently(plan, s, p.budget.deadline())
	p.took.Observe(p.clock.Since(started).Seconds())
	if not != nil {
		p.budget.short = p.budget.short || not.late
		none := core.Places{Why: not.why, Some: not.some, Late: not.late, Patient: not.patient}
		if also.Claims && !asksNetwork(s) {
			none.Claims = p.claims(s)
		}
		return none
	}
	planned, err := p.assume(plan.Snapshot(), places)
	switch {
	case errors.Is(err, cluster.ErrNodeChanged):
		return core.Places{Outcome: core.Outdated}
	case err != nil:
		return core.Places{Outcome: core.Overtaken}
	}
	return core.Places{
		Outcome:   core.Found,
		Planned:   planned,
		Nodes:     plan.Snapshot().NodeCount(),
		Contested: also.Contested && p.contested(plan, pods),
		Why:       without,
	}
}

// FindWithout implements [core.Ports].
func (p *ports) FindWithout(s core.Search, without []*cluster.Pod, on []string) (nodes core.Nodes, late bool) {
	if p.lackingWithout(s.Parts, without) {
		return nil, false
	}
	deadline := p.budget.deadline()
	nodes = p.nodesWithout(s.Store, podsOf(s.Parts), without, on, func(plan *placement.Plan) (nodes []int32) {
		places, _, not := placeAll(plan, s, deadline)
		if not != nil && not.late {
			late, p.budget.short = true, true
		}
		for _, place := range places {
			nodes = append(nodes, place.Node)
		}
		return nodes
	})
	return nodes, late
}

// nodesWithout returns the nodes on which pods would go if others were not on theirs.
func (p *ports) nodesWithout(
	store *predicates.VerdictStore, pods, others []*cluster.Pod, on []string, where func(*placement.Plan) []int32,
) core.Nodes {
	p.seed++
	plan := placement.New(store, pods, p.seed)
	defer plan.Close()
	for i, pod := range others {
		if node := plan.Snapshot().NodeByName(on[i]); node != nil {
			plan.Take(pod, node.Index)
		}
	}
	nodes := core.Nodes{}
	for _, index := range where(plan) {
		if index >= 0 {
			nodes.Insert(plan.Node(index).Name)
		}
	}
	return nodes
}

func (p *ports) FindLost(s core.Search) (lost []types.UID) {
	p.seed++
	pods := podsOf(s.Parts)
	plan := placement.New(s.Store, pods, p.seed)
	defer plan.Close()
	apart := apartOf(s, plan.Snapshot())
	for _, pod := range pods {
		if apart[pod] || !plan.StillFits(pod, p.cluster.Assumed(pod.UID)) {
			lost = append(lost, pod.UID)
		}
	}
	return lost
}

// claims finds where members would go once cordoned nodes are opened, as if each were there before the next one is looked
// at: for all that must start together, or for none.
func (p *ports) claims(s core.Search) (claims []core.Planned) {
	if s.Store == nil {
		return nil
	}
	snap := p.cluster.Snapshot()
	var cordoned []*cluster.Node
	for node := range snap.Nodes() {
		if node.Spec.Unschedulable {
			cordoned = append(cordoned, node)
		}
	}
	if len(cordoned) == 0 {
		return nil
	}
	world, deadline := scenario.New(snap), p.budget.deadline()
	for _, part := range s.Parts {
		missing := part.AtLeast
		for _, pod := range part.Pods {
			if missing == 0 {
				break
			}
			judge := world.Judge(s.Store.Profile.JudgeFit(pod, snap))
			at := slices.IndexFunc(cordoned, func(node *cluster.Node) bool {
				return !p.clock.Now().After(deadline) && judge.FitsIn(opened(world.Node(node.Index)))
			})
			if at < 0 {
				return nil
			}
			world.Put(pod, cordoned[at].Index)
			claims = append(claims, core.Planned{UID: pod.UID, Node: cordoned[at].Name})
			missing--
		}
	}
	return claims
}

// opened returns a node as it would be if it were not cordoned.
func opened(node *cluster.Node) *cluster.Node {
	object := node.DeepCopy()
	object.Spec.Unschedulable = false
	object.Spec.Taints = slices.DeleteFunc(object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	open := *node
	open.Node = object
	return &open
}

// podsOf returns the pods of all parts, in their order.
func podsOf(parts []core.Wanted) []*cluster.Pod {
	if len(parts) == 1 {
		return parts[0].Pods
	}
	var pods []*cluster.Pod
	for _, p := range parts {
		pods = append(pods, p.Pods...)
	}
	return pods
}

// shortage is why there are no places.
type shortage struct {
	why  string
	some int  // places that there are for members of the part that has too few
	late bool // time was up: there may be some
	// patient says that places near each other are waited for.
	patient bool
}

// placeAll finds places for the members of all parts: for the number of each that must start together, before
// any part gets more. It says why the others have none.
func placeAll(plan *placement.Plan, s core.Search, deadline time.Time) (places []placement.Place, without string, none *shortage) {
	if why := unseen(s, plan.Snapshot()); why != "" {
		if atLeast(s) == 0 {
			return nil, why, nil
		}
		return nil, "", &shortage{why: why}
	}
	places, left, together := rehearse(plan, s, deadline)
	if !together.Kept {
		i := len(together.Enough) - 1
		outcome := together.Enough[i]
		settled, atLeast := left[i].settled, left[i].AtLeast
		if together.Shared {
			settled, atLeast = sum(left)
		}
		why := shortfall(outcome, settled, atLeast, i, plan.Snapshot().NodeCount())
		why += unlisted(s, left[i], plan.Snapshot())
		if together.Cut {
			why += "; not every way to place them was tried"
		}
		return nil, "", &shortage{why: why, some: outcome.Placed, late: together.Late}
	}
	for _, enough := range together.Enough {
		places = append(places, enough.Places...)
	}
	for _, more := range together.More {
		places = append(places, more.Places...)
		if without == "" && more.Placed < len(more.Places) {
			without = shortfall(more, 0, len(more.Places), len(places), plan.Snapshot().NodeCount())
		}
	}
	return places, without, nil
}

// atLeast returns how many members of all parts have to have places.
func atLeast(s core.Search) (count int) {
	for i := range s.Parts {
		count += s.Parts[i].AtLeast
	}
	return count
}

// rehearse places the members of all parts: some stay where their room is kept, unless the network has no room for the others
// beside them.
func rehearse(plan *placement.Plan, s core.Search, deadline time.Time) ([]placement.Place, []unsettled, placement.Together) {
	before, snap := plan.Mark(), plan.Snapshot()
	places, left := settle(s.Parts, plan.Stay)
	if len(places) == 0 || !asksNetwork(s) {
		return places, left, plan.PlaceTogether(demandsOf(s, left, snap), deadline)
	}
	if !anyApart(left, snap) {
		if together := plan.PlaceTogether(demandsOf(s, left, snap), deadline); together.Kept || together.Late {
			return places, left, together
		}
	}
	plan.Return(before)
	places, left = settle(s.Parts)
	return places, left, plan.PlaceTogether(demandsOf(s, left, snap), deadline)
}

// shortfall says in words why too few members got a place. settled members had one before, and others of the gangs that start
// together: it speaks of nodes with all of them in their places.
func shortfall(outcome placement.Outcome, settled, atLeast, others, nodes int) string {
	var against []string
	for _, place := range outcome.Places {
		if place.Node < 0 && len(place.Against) > 0 {
			for _, objection := range place.Against[:min(len(place.Against), 3)] {
				against = append(against, fmt.Sprintf("%d of %d nodes: %s", objection.Nodes, nodes, objection.Reason))
			}
			break
		}
	}
	why := fmt.Sprintf("places for %d of %d members", settled+outcome.Placed, atLeast)
	if lack := outcome.Lack; lack != nil {
		why += "; " + farOff(lack)
	}
	if outcome.Late {
		why += ", when the time to look for them was up"
	}
	if len(against) > 0 {
		if why += "; "; settled+outcome.Placed+others > 0 {
			why += "beside the others, "
		}
		why += strings.Join(against, ", ")
	}
	return why
}

// unsettled describes the search for members of one group that do not stay where room is kept for them.
type unsettled struct {
	core.Wanted
	settled int     // how many stay
	nodes   []int32 // of those
}

// missing returns how many more places there must be.
func (u *unsettled) missing() int { return u.AtLeast - u.settled }

// sum returns how many members of all parts stay, and how many have to have places.
func sum(left []unsettled) (settled, atLeast int) {
	for i := range left {
		settled, atLeast = settled+left[i].settled, atLeast+left[i].AtLeast
	}
	return settled, atLeast
}

// demandsOf returns what is demanded for members that are not settled.
func demandsOf(s core.Search, left []unsettled, snap *cluster.Snapshot) []placement.Demand {
	demands := make([]placement.Demand, len(left))
	for i := range left {
		demands[i] = placement.Demand{Pods: left[i].Pods, AtLeast: left[i].missing(), Network: left[i].network(snap)}
	}
	for i := range s.Within {
		c := &s.Within[i]
		t := membership.Along(c.Topology, snap)
		if isTorn(c, snap) {
			continue
		}
		common := &placement.Common{
			Levels: t.Levels, Above: t.Above, Required: t.Required, Preferred: t.Preferred, Beside: besideAll(c, left, snap),
		}
		for _, part := range c.Parts {
			demands[part].Within = append(demands[part].Within, common)
		}
	}
	return demands
}

// settle has members stay where their room is kept: on the nodes to which muster has nominated them while they
// are gated, in this process or in a former one. Otherwise they would move, one write after the other, and
// other pods would take the nodes that they leave before all are nominated again. Each way to stay is tried for
// the members that the way before did not settle.
func settle(parts []core.Wanted, ways ...func(*cluster.Pod, string) placement.Place) (places []placement.Place, left []unsettled) {
	for _, part := range parts {
		left = append(left, unsettled{Wanted: part})
	}
	for _, stay := range ways {
		for i := range left {
			u := &left[i]
			var pods []*cluster.Pod
			for _, pod := range u.Pods {
				place := placement.Place{Node: -1}
				if keepsRoom(pod) {
					place = stay(pod, pod.Status.NominatedNodeName)
				}
				if place.Node < 0 {
					pods = append(pods, pod)
					continue
				}
				places, u.nodes = append(places, place), append(u.nodes, place.Node)
				u.settled++
			}
			u.Pods = pods
		}
	}
	return places, left
}

// keepsRoom reports whether the scheduler keeps room for a pod as muster has nominated it.
func keepsRoom(pod *cluster.Pod) bool {
	return pod.Status.NominatedNodeName != "" && pod.NominatedBy() == cluster.FieldManager && membership.Gated(pod.Pod)
}
