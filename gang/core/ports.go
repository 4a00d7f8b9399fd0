package core

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
)

// Ports has all that an event may ask for while it is applied: where members count, and searches. What is asked for is done
// when the call returns.
type Ports interface {
	// Now returns the time, which searches take.
	Now() time.Time

	// Release has a pod not count on its place any more.
	Release(uid types.UID)
	// Renew has a pod count on its place for longer. It reports false if the pod does not count any more.
	Renew(uid types.UID) (counts bool)

	// FindPlaces has members count on places, as the cluster is.
	FindPlaces(Search, Also) Places
	// FindVictims has members count on places that they would have if others were evicted.
	FindVictims(Search, *Terms) Evictions
	// FindWithout returns the nodes to which members would go if others, who are on nodes, had no places: none if that would not be enough,
	// or, late, if the time was up before that was known.
	FindWithout(s Search, without []*cluster.Pod, on []string) (nodes Nodes, late bool)
	// FindLost returns the members that could not come to the places on which they count, if they did not count there. Where a group
	// has to be in one domain and is not, it returns all its members: the nodes beside them are their own as well.
	FindLost(Search) []types.UID
}

// Search describes the places that are sought.
type Search struct {
	Store *predicates.VerdictStore
	Parts []Wanted
	// Within are domains that parts share, an outer one before the ones in it.
	Within []Common
}

// Common is a domain of the network that parts of a search share.
type Common struct {
	Topology v1alpha1.Topology // its level is required or preferred
	Parts    []int             // their indexes
	// Beside are the nodes of all members that have places, each as often as it has some, and Running the nodes of bound members. Both
	// count groups that have started.
	Beside, Running []string
}

// Wanted describes the places that the members of one group need.
type Wanted struct {
	Key     membership.Key
	Pods    []*cluster.Pod // in their order
	AtLeast int
	// Resources is the least amount that all nodes together must have free, if AtLeast is not 0, counting as
	// free what the Own pods take. It is nil for no condition.
	Resources corev1.ResourceList
	Own       []*cluster.Pod
	// Topology has their demands on the network. Beside are the nodes of other members, each as often as it has some.
	// Patient says that they wait for one domain of the level that they prefer.
	Topology v1alpha1.Topology
	Beside   []string
	Patient  bool
}

// Also asks a search for places to find out more.
type Also struct {
	// Contested asks whether pods that wait might take so much room that too little is left.
	Contested bool
	// Claims asks where members would go, if there is no place, once nodes are opened that are cordoned.
	Claims bool
}

// Outcome is the outcome of a search.
type Outcome int

// The outcomes of a search.
const (
	// NotFound says that there are no places.
	NotFound Outcome = iota
	// Found says that the members count on their places.
	Found
	// Outdated says that a node was another one when members were to count there.
	Outdated
	// Overtaken says that a member was on a node already: to look again is of no use.
	Overtaken
)

// Places has the result of a search for places.
type Places struct {
	Outcome
	// Planned are the members that have places, in an order that is kept, and Nodes is how many nodes there are.
	Planned []Planned
	Nodes   int
	// Contested and Claims answer [Also].
	Contested bool
	Claims    []Planned
	// Why says in words why members have no place: all of them with NotFound, those beyond the least number with Found;
	// "" when all have one.
	Why string
	// Some is how many places there are with NotFound for members of the part that has too few.
	Some int
	// Late says that time was up: there may be places all the same.
	Late bool
	// Patient says that members wait for one domain of the level that they prefer, see [Wanted].
	Patient bool
}

// Evictions has the result of a search for victims.
type Evictions struct {
	Outcome
	// Planned are the members that have places, and Nodes is how many nodes there are.
	Planned []Planned
	Nodes   int
	// Victims are the pods that have to go, by node.
	Victims map[string][]Victim
	// Why says in words what is in the way though all go that may; "" when that is not known.
	Why string
	// Late says that time was up: there may be victims.
	Late bool
}

// Planned is a place that a member has been given.
type Planned struct {
	UID  types.UID
	Node string
}

// Nodes are names of nodes.
type Nodes = sets.Set[string]

// View is the part of the cluster that an event may read, as it is at each call.
type View interface {
	// Generation numbers the state of the cluster, from 1 on.
	Generation() uint64
	// PodGroup returns the object of a group, nil when there is none.
	PodGroup(key membership.Key) *v1alpha1.Observed
	// Node returns a node by its name, nil when there is none.
	Node(name string) *cluster.Node
	// NodeCount returns how many nodes there are, and NodeNames which.
	NodeCount() int
	NodeNames() *cluster.NodeNames
	// Ages returns for how long pods have run by now.
	Ages() runtimes.Ages
	// Pods returns all pods that count on nodes.
	Pods() iter.Seq[*cluster.Pod]
	// Assumed returns the node on which a pod counts before the watch shows it there, "" for none.
	Assumed(uid types.UID) string
	// Binding returns the node to which a pod may be bound any moment, "" for none.
	Binding(uid types.UID) string
	// Blocked reports whether kube-scheduler would refuse a pod the room that is kept for it, as it does not know of that yet.
	Blocked(uid types.UID) bool
	// Profile returns the profile in force for a scheduler name, nil when muster has none.
	Profile(schedulerName string) *predicates.VerdictStore
	// Came is how many pods have come to wait for a scheduler so far.
	Came() uint64
	// Untried reports whether the scheduler of a name has yet to decide about one of the first of them, counted
	// up to first and leaving out pods that came before a time.
	Untried(schedulerName string, first uint64, since time.Time) bool
	// Waits reports whether one of the first of them, counted up to first, still waits.
	Waits(first uint64) bool
}
