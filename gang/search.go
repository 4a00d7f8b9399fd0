package gang

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// search finds places and victims on one snapshot, and has members count on what it found. It is
// used under the lock of a Manager.
type search struct {
	clock        clock.PassiveClock
	cluster      *cluster.Cluster
	reservations Reservations // nil for none
	budget       *budget
	took         prometheus.Observer
	seed         uint64 // of the next plan
}

func podPriority(pod *cluster.Pod) int32 { return corev1helpers.PodPriority(pod.Pod) }

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

// places finds places for members as the cluster is.
func (s *search) places(e core.FindPlaces) core.Event {
	if why := s.lacking(e.Parts); why != "" {
		return core.NoPlaces{Attempt: e.Attempt, Why: why}
	}
	s.seed++
	started := s.clock.Now()
	pods := podsOf(e.Parts)
	plan := s.newPlan(e.Store, pods)
	defer plan.Close()
	places, without, not := placeAll(plan, e.Parts, s.budget.deadline())
	s.took.Observe(s.clock.Since(started).Seconds())
	if not != nil {
		s.budget.short = s.budget.short || not.late
		return core.NoPlaces{Attempt: e.Attempt, Why: not.why, Late: not.late, Claims: s.claims(e)}
	}
	planned, err := s.assume(plan.Snapshot(), places)
	if err != nil {
		return core.NodesChanged{Attempt: e.Attempt, Again: errors.Is(err, cluster.ErrNodeChanged)}
	}
	return core.PlacesFound{
		Attempt:   e.Attempt,
		Places:    planned,
		Nodes:     plan.Snapshot().NodeCount(),
		Contested: e.Weigh && s.contested(plan, pods),
		Without:   without,
	}
}

// newPlan begins one for members. Room that plans of the rescheduler keep for them is theirs. A gang that these
// move as a whole returns to none of the nodes that any of its members left.
func (s *search) newPlan(store *predicates.VerdictStore, pods []*cluster.Pod) *placement.Plan {
	if s.reservations == nil {
		return placement.New(store, pods, s.seed)
	}
	reserved := s.reservations.Reserved(pods) // of what is given up for a member, the plan has to see that it is free
	plan := placement.New(store, pods, s.seed)
	plan.Avoid(s.reservations.Left(pods))
	if reserved.Len() > 0 {
		for node := range plan.Snapshot().Nodes() {
			for _, pod := range node.Pods {
				if reserved.Has(pod.UID) {
					plan.Take(pod, node.Index)
				}
			}
		}
	}
	return plan
}

// contested reports whether pods that wait might take so much room that too little is left for members that have just
// been placed.
func (s *search) contested(plan *placement.Plan, members []*cluster.Pod) bool {
	own := sets.New[types.UID]()
	for _, pod := range members {
		own.Insert(pod.UID)
	}
	var rivals []*cluster.Pod
	for _, pod := range s.cluster.Pending() {
		if !own.Has(pod.UID) && s.mayRoam(pod) {
			rivals = append(rivals, pod)
		}
	}
	return plan.Contested(members, rivals)
}

// mayRoam reports whether the scheduler may put a pod anywhere, now or when its gate is lifted. One with a gate of
// muster's has to have a place before, and goes to no other one if it is nominated there.
func (s *search) mayRoam(pod *cluster.Pod) bool {
	if _, member := membership.Of(pod); !member || !membership.Gated(pod.Pod) {
		return true
	}
	place := s.cluster.Assumed(pod.UID)
	return place != "" && place != pod.Status.NominatedNodeName
}

// lost finds the members that could not come to the places on which they count.
func (s *search) lost(e core.FindLost) core.Event {
	s.seed++
	plan := placement.New(e.Store, e.Pods, s.seed)
	defer plan.Close()
	answer := core.PlacesProven{Attempt: e.Attempt}
	for _, pod := range e.Pods {
		if !plan.StillFits(pod, s.cluster.Assumed(pod.UID)) {
			answer.Lost = append(answer.Lost, pod.UID)
		}
	}
	return answer
}

// shortage is why there are no places.
type shortage struct {
	why  string
	late bool // time was up: there may be some
}

// placeAll finds places for the members of all parts: for the number of each that must start together, before
// any part gets more. It says why the others have none.
func placeAll(plan *placement.Plan, parts []core.Wanted, deadline time.Time) (places []placement.Place, without string, none *shortage) {
	places, left := settle(parts, plan.Stay)
	for i := range left {
		outcome := plan.PlaceEnough(left[i].Pods, left[i].missing(), deadline)
		if !outcome.Kept {
			return nil, "", &shortage{shortfall(outcome, left[i].settled, left[i].AtLeast, plan.Snapshot().NodeCount()), outcome.Late}
		}
		places = append(places, outcome.Places...)
		left[i].Pods = left[i].Pods[len(outcome.Places):]
	}
	for _, p := range left {
		more := plan.PlaceAll(p.Pods, 0, deadline)
		places = append(places, more.Places...)
		if without == "" && more.Placed < len(more.Places) {
			without = shortfall(more, 0, len(more.Places), plan.Snapshot().NodeCount())
		}
	}
	return places, without, nil
}

// assume has pods count on their places, or none of them.
func (s *search) assume(snap *cluster.Snapshot, places []placement.Place) ([]core.Planned, error) {
	on := map[int32][]*cluster.Pod{}
	var order []int32
	for _, place := range places {
		if place.Node < 0 {
			continue
		}
		if on[place.Node] == nil {
			order = append(order, place.Node)
		}
		on[place.Node] = append(on[place.Node], place.Pod)
	}
	for i, index := range order {
		if err := s.cluster.AssumeAll(on[index], snap.Node(index)); err != nil {
			for _, before := range order[:i] {
				for _, pod := range on[before] {
					s.cluster.Release(pod.UID)
				}
			}
			return nil, err
		}
	}
	if s.reservations != nil {
		s.reservations.Refresh()
	}
	planned := make([]core.Planned, 0, len(places))
	for _, index := range order {
		for _, pod := range on[index] {
			planned = append(planned, core.Planned{UID: pod.UID, Node: snap.Node(index).Name})
		}
	}
	return planned, nil
}

// shortfall says in words why too few members got a place. settled members had one before.
func shortfall(outcome placement.Outcome, settled, atLeast, nodes int) string {
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
	if outcome.Late {
		why += ", when the time to look for them was up"
	}
	if len(against) > 0 {
		why += "; " + strings.Join(against, ", ")
	}
	return why
}

// without finds on which nodes members would go if others had no places: on none, if there would still be less than
// they ask for.
func (s *search) without(e core.FindWithout) core.Event {
	parts := slices.Clone(e.Parts)
	for i := range parts {
		parts[i].Own = slices.Concat(parts[i].Own, e.Without)
	}
	if s.lacking(parts) != "" {
		return core.FoundWithout{Attempt: e.Attempt}
	}
	deadline := s.budget.deadline()
	nodes := s.nodesWithout(e.Store, podsOf(e.Parts), e.Without, e.On, func(plan *placement.Plan) (on []int32) {
		places, _, _ := placeAll(plan, e.Parts, deadline)
		for _, place := range places {
			on = append(on, place.Node)
		}
		return on
	})
	return core.FoundWithout{Attempt: e.Attempt, Nodes: nodes}
}

// nodesWithout returns the nodes on which pods would go if others were not on theirs.
func (s *search) nodesWithout(
	store *predicates.VerdictStore, pods, others []*cluster.Pod, on []string, where func(*placement.Plan) []int32,
) core.Nodes {
	s.seed++
	plan := placement.New(store, pods, s.seed)
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

// victims finds places for members if others were evicted.
func (s *search) victims(e core.FindVictims) core.Event {
	s.seed++
	started := s.clock.Now()
	none := func(why string) core.Event {
		return core.NoVictims{Attempt: e.Attempt, Took: s.clock.Since(started), Why: why}
	}
	defer func() { s.took.Observe(s.clock.Since(started).Seconds()) }()
	pods := podsOf(e.Parts)
	plan := s.newPlan(e.Store, pods)
	defer plan.Close()
	evictions := placement.NewEvictions(plan, s.sparing(pods, e.Terms.May))
	places, left := settle(e.Parts, evictions.Stay, evictions.Await)
	for _, p := range left {
		outcome := evictions.PlaceAll(p.Pods, p.missing(), s.budget.deadline())
		if !outcome.Kept {
			s.budget.short = s.budget.short || outcome.Late
			if outcome.Late {
				return none("")
			}
			return none(shortfall(outcome, p.settled, p.AtLeast, plan.Snapshot().NodeCount()))
		}
		places = append(places, outcome.Places...)
	}
	found, ok := evictions.Victims()
	if !ok || len(found) == 0 && s.lacking(e.Parts) != "" {
		return none("")
	}
	victims := map[string][]core.Victim{}
	for _, v := range found {
		name := plan.Node(v.Node).Name
		victims[name] = append(victims[name], core.Victim{Pod: v.Pod, Violates: v.Violates})
	}
	planned, err := s.assume(plan.Snapshot(), places)
	switch {
	case errors.Is(err, cluster.ErrNodeChanged):
		return core.NodesChanged{Attempt: e.Attempt, Again: true}
	case err != nil:
		return none("")
	}
	return core.VictimsFound{Attempt: e.Attempt, Places: planned, Nodes: plan.Snapshot().NodeCount(), Victims: victims}
}

// sparing narrows may: no member may have pods evicted that plans of the rescheduler count on.
func (s *search) sparing(
	preemptors []*cluster.Pod, may func(*cluster.Pod) (placement.Eviction, bool),
) func(*cluster.Pod) (placement.Eviction, bool) {
	if s.reservations == nil {
		return may
	}
	spared := s.reservations.Spared(preemptors...)
	return func(pod *cluster.Pod) (placement.Eviction, bool) {
		if spared.Has(pod.UID) {
			return placement.Eviction{}, false
		}
		return may(pod)
	}
}
