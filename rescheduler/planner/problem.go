// Package planner works out which pods to move, and in which order, so that others get a
// place, nodes become empty or pods leave their nodes. It changes nothing and asks nobody: a
// [Problem] is data, and so is the [Plan] that comes of it.
//
//	problem := &planner.Problem{Snapshot: snap, Profiles: profiles, Clock: clock.RealClock{}}
//	plan := problem.MakeRoom(problem.Pending(pods))
//	for _, step := range plan.Steps {
//		fmt.Println(step.Pod.Name, step.From.Name, "->", step.To.Name, step.Why)
//	}
//
// What holds of every plan:
//
//   - Each step has a place to go to. When it is its turn, and the steps before it are done, the target takes
//     the pod by every predicate of its profile. The same holds of the pods that room is made for. So a plan
//     may end after any step, and no pod is left without a place.
//   - No pod is moved that the [Rules] protect, and no more than the [Budgets] and the
//     PodDisruptionBudgets allow for the plan as a whole.
//   - Gangs are moved whole or not at all. Pending gangs get the number of places that they need to start,
//     or none.
//   - Nobody makes room for a pod of lower priority, unless the rules say so.
//   - A pod that is to leave goes where the scores of its profile prefer it, if that has room.
//   - No pod moves to a node that one of its kind leaves.
//   - Given the same problem and the same time, it is the same.
//
// # How it searches
//
// The search reasons in amounts of resources, and the predicates have the last word. A pod without a place goes
// to a node with room or ejects the cheapest set of pods there. Each ejected pod is found a place in the same
// way, up to [Limits].Hops times in a row (an ejection chain). Then parts of the result are taken back and built
// again, as long as that pays (ruin and recreate: Schrimpf et al., 2000; Christiaens and Vanden Berghe, 2020).
// The result is put in an order in which each step has room, and is carried out on a model of the cluster with
// all predicates (a proof). Where one of them objects, that pod is kept off that node and the search restarts.
//
// # Its parts
//
// A state says where the pods are and what room that leaves; its log lets any part take back what it did. A search has
// the parts that all five aims need. Each is made complete, after the parts that it needs, and none knows the search:
//
//   - roster: which pods may be moved, and which only together; queue: the groups that wait.
//   - standings: what the predicates have against a pod on a node, room aside; rehearsal: what they say when moves
//     are carried out.
//   - homes: places where there is room; evictions: who would have to leave for it; insertion: both, several moves
//     in a row.
//   - purposes: what pods move for; audit: whether a state may be a plan; savings: who need not move after all.
//   - author and refusals: the plan, in words.
//
// placing, clearing, freeing, departures and relief are what MakeRoom, Coalesce, FreeDomains, Relocate and Relieve search
// for. Each is made of a search by the one function that needs it.
package planner

import (
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

// Problem is a cluster, and what may be done about it.
type Problem struct {
	Snapshot *cluster.Snapshot
	// Profiles judge the pods of their names. A pod of a scheduler that none is for is not
	// moved, and nothing is moved for it.
	Profiles []*predicates.Profile
	// Reserved are places that are kept for pods that are not there yet, as by another plan.
	Reserved []Reservation
	// Bars, if set, says that a pod must not go to a node, for a reason that no predicate
	// knows: a ban, a reservation of another plan, load. It must always say the same.
	Bars func(pod *cluster.Pod, node *cluster.Node) bool
	// Load, if set, is the load of nodes besides requests.
	Load *Load
	// Gangs bound what gangs may ask for.
	Gangs membership.Bounds
	// Rules say which pods may be evicted, and Budgets how many of them.
	Rules   Rules
	Budgets Budgets
	Limits  Limits
	Seed    uint64
	Clock   clock.PassiveClock // required
}

// bars returns Bars, or what bars nothing.
func (p *Problem) bars() func(pod *cluster.Pod, node *cluster.Node) bool {
	if p.Bars == nil {
		return func(*cluster.Pod, *cluster.Node) bool { return false }
	}
	return p.Bars
}

// Reservation is a place that is kept for a pod.
type Reservation struct {
	Pod  *cluster.Pod
	Node int32 // an index of the snapshot
}

// Limits bound the search.
type Limits struct {
	// Hops is how many moves may hang on one another: with 1, pods only move to room that is
	// free already; with more, others may be moved to make it. 0 stands for 3.
	Hops int
	// Time is how long to search; what was found by then counts. 0 stands for one second.
	Time time.Duration
	// Patience is how many tries in a row to improve a plan may fail before it is good
	// enough. 0 stands for 200; negative for none at all.
	Patience int
}

func (l Limits) withDefaults() Limits {
	if l.Hops <= 0 {
		l.Hops = 3
	}
	if l.Time <= 0 {
		l.Time = time.Second
	}
	if l.Patience == 0 {
		l.Patience = 200
	}
	return l
}

// Group is a group of pending pods. At least AtLeast of them must get a place, or none gets one.
type Group struct {
	// Name is for people: the pod's, or the gang's.
	Name    string
	Pods    []*cluster.Pod
	AtLeast int
	// Near, if set, says in which domains of the network they may be.
	Near *Near
	// Hindrance, if set, is one of the Reasons why the group gets no room, whatever is moved: AtLeast is more than the
	// pods then. Why says more.
	Hindrance, Why string
}

func (g *Group) priority() int32 {
	highest := int32(-1 << 31)
	for _, pod := range g.Pods {
		highest = max(highest, corev1helpers.PodPriority(pod.Pod))
	}
	return highest
}
