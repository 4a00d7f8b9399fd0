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

// MakeRoom plans places for pending groups, and the moves that they need. It places all the pods it can, the
// highest priority first, at the least cost. Pods that have room anyway get their places without a step.
func (p *Problem) MakeRoom(groups []Group) *Plan {
	s := newSearch(p, groups, nil)
	proven := s.solve(func() {
		s.placing.construct()
		s.placing.improve()
	})
	return s.author.plan(proven)
}
