package planner

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
)

// Plan is pods to move, in this order, and what that is good for.
type Plan struct {
	// Generation numbers the snapshot that the plan is about.
	Generation uint64
	Steps      []Step
	// Placements are the places of pending pods.
	Placements []Placement
	// Unplaced are the groups that get no place, and why.
	Unplaced []Refusal
	// Emptied are the nodes that nothing is left on but what goes with them.
	Emptied []*cluster.Node
	// Kept are the nodes that could not be emptied or relieved, or the domains that could not be freed, and why.
	Kept []Refusal
	// Unmoved are the pods that were to leave their nodes and have to stay, and why.
	Unmoved []Refusal
	// Cost is the sum of the costs of the steps; see Step.
	Cost int64
	// Late says that the search ended because its time was up.
	Late bool
	// Took is how long it took.
	Took time.Duration
}

// Step is a pod that moves: it is evicted, and what replaces it goes to another node.
type Step struct {
	Pod  *cluster.Pod
	From *cluster.Node // as in the snapshot
	To   *cluster.Node // as in the snapshot
	// Replacement is the pod as it is placed again, without a node or a name of its own.
	Replacement *cluster.Pod
	// Gang is the name of the gang that moves as a whole with this pod in it; "" for none.
	Gang string
	// For are the places in Plan.Placements of the pods that it makes room for, directly or by
	// way of other steps.
	For []int
	// Why says the same in words.
	Why string
	// Cost is in thousandths of the eviction of a pod that has just started, has no priority
	// and no disruption budget.
	Cost int64
}

// Placement is a pending pod and the node that will have room for it.
type Placement struct {
	Pod   *cluster.Pod
	Node  *cluster.Node // as in the snapshot
	Group string
	// After is how many steps have to be done before it has room.
	After int
	// Awaits says that it has room only once pods have gone that leave by themselves: nothing is moved for it, and
	// nothing reserved.
	Awaits bool
	// Cost sums the steps that make room for it. A step that makes room for several pods
	// counts for each.
	Cost int64
	Why  string
}

// Refusal is why there is no place for a group, why a node is not emptied or relieved, why a domain is
// not freed, or why a pod does not leave its node.
type Refusal struct {
	// Name names the group, the node, the domain or the pod.
	Name string
	// Pods are the pods of the group.
	Pods []*cluster.Pod
	// Reason is one of the constants whose names begin with Reason.
	Reason string
	// Details count what is behind it: nodes by what is against them, pods by what protects
	// them. The greatest number comes first.
	Details []Detail
}

// String is as in "no other place was found: 2 nodes: …; 3 pods: …".
func (r *Refusal) String() string {
	if len(r.Details) == 0 {
		return r.Reason
	}
	var details []string
	for _, detail := range r.Details {
		details = append(details, detail.String())
	}
	return r.Reason + ": " + strings.Join(details, "; ")
}

// Detail is a reason, and of how many nodes or pods it is true: of none when it is about a whole group.
type Detail struct {
	Reason string
	Nodes  int
	Pods   int
}

// String is as in "3 pods: it has local storage".
func (d Detail) String() string {
	if d.Nodes+d.Pods == 0 {
		return d.Reason
	}
	count, what := d.Nodes, "node"
	if d.Pods > 0 {
		count, what = d.Pods, "pod"
	}
	if count != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s: %s", count, what, d.Reason)
}

// Reasons why a group gets no place, or a pod no other one.
const (
	ReasonUnknownScheduler = "no profile of muster has the scheduler name of the pods"
	ReasonNoNode           = "no node could take the pod, whatever pods were moved"
	ReasonProtected        = "where the pod could run, too little may be moved"
	ReasonNoHomes          = "no other place was found for the pods that are in the way"
	ReasonNotAll           = "there is room for some of its pods, and not for enough of them together"
	ReasonOthersFirst      = "other pods that wait take the room, and nobody else is in the way"
	ReasonUnproven         = "there is room for it by itself, and no plan for it beside the others was proven"
	ReasonMembersMissing   = "too few pods of the gang are there"
	ReasonCannotStart      = "the gang cannot start"
	ReasonMinResources     = "the gang cannot start before all nodes together have more free"
	ReasonNativeGroup      = "kube-scheduler itself plans the group of the pod"
	ReasonTopology         = "no room is made yet for gangs that are divided over a network, or that start together and are near each other"
	ReasonNoDomain         = "no domain of the network was found that has room for enough of its pods once others have moved"
	ReasonResourceClaims   = "a ResourceClaim that it names is not there, is being deleted or is not its own"
	ReasonLate             = "the time to search was up"
	ReasonNotEligible      = "the pod is not to go there"
)

// Reasons why a node is not emptied or relieved.
const (
	ReasonPodsStay     = "pods on the node may not be moved"
	ReasonNoOtherPlace = "no other place was found for pods of the node"
	ReasonTooLittle    = "too little of what it bears could be moved"
	ReasonNoTarget     = "no other node is a target for pods of it"
	ReasonReceives     = "pods of other nodes move there"
)

// Reasons why a node is no target for a pod that is to leave another one.
const (
	ReasonHotItself  = "it is to bear less itself"
	ReasonTargetLoad = "it would bear too much with the pod"
	ReasonTargetRoom = "it has too little room for the pod"
)

// Reasons why a domain is not freed.
const (
	ReasonSmallDomain  = "it has fewer nodes than are to be empty together"
	ReasonFewNodes     = "too few of its nodes can be emptied"
	ReasonLittleRoom   = "all other nodes together have too little room for the pods of enough nodes"
	ReasonNotTogether  = "no other places were found for the pods of enough nodes at once"
	ReasonManyAtOnce   = "a budget does not allow to evict the pods of enough nodes in one plan"
	ReasonNodeCordoned = "somebody has cordoned the node"
	ReasonNodeHeld     = "room on the node is kept for pods that are to come"
)

// Figures say how a cluster is laid out.
type Figures struct {
	// EmptyNodes have no pods except the ones that go with the node.
	EmptyNodes int
	// Fragmentation says of CPU, memory and each other resource that pods ask for how much of
	// a node is taken, on average, where a unit of it is free: 0 when all that is free is on
	// empty nodes, and close to 1 when it is the rest of full ones.
	Fragmentation map[corev1.ResourceName]float64
}

// Figures returns the figures of the cluster as it is, and once a plan has been carried out.
func (p *Problem) Figures(plan *Plan) (before, after Figures) {
	world := scenario.New(p.Snapshot)
	before = figuresOf(world)
	for _, step := range plan.Steps {
		world.Take(step.Pod, step.From.Index)
		world.Put(step.Replacement, step.To.Index)
	}
	for _, placement := range plan.Placements {
		world.Put(placement.Pod, placement.Node.Index)
	}
	return before, figuresOf(world)
}

func figuresOf(world *scenario.Scenario) Figures {
	f := Figures{Fragmentation: map[corev1.ResourceName]float64{}}
	free, taken, asked := map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}, map[corev1.ResourceName]bool{}
	add := func(name corev1.ResourceName, offered, requested int64) {
		asked[name] = asked[name] || requested > 0
		if left := offered - requested; left > 0 {
			free[name] += float64(left)
			taken[name] += float64(left) * float64(requested) / float64(offered)
		}
	}
	snap := world.Snapshot()
	for before := range snap.Nodes() {
		node := world.Node(before.Index)
		if IsEmpty(node) {
			f.EmptyNodes++
		}
		offered, requested := &node.Allocatable, &node.Requested
		add(corev1.ResourceCPU, offered.MilliCPU, requested.MilliCPU)
		add(corev1.ResourceMemory, offered.Memory, requested.Memory)
		for _, scalar := range offered.Scalars {
			add(scalar.Name.Value(), scalar.Amount, requested.Scalar(scalar.Name))
		}
	}
	for name := range free {
		if asked[name] {
			f.Fragmentation[name] = taken[name] / free[name]
		}
	}
	return f
}

// IsEmpty reports whether a node has no pods except the ones that go with it.
func IsEmpty(node *cluster.Node) bool {
	for _, pod := range node.Pods {
		if !GoesWithNode(pod) {
			return false
		}
	}
	return true
}

// GoesWithNode reports whether a pod is on a node as long as there is that node, and nowhere else.
func GoesWithNode(pod *cluster.Pod) bool { return isMirror(pod) || pod.OfDaemonSet() }
