package predicates

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Predicate is one reason why a node may not take a pod. Implementations are
// immutable and safe for concurrent use.
type Predicate interface {
	// Name is the plugin's name in kube-scheduler.
	Name() string
	// Aspects are the aspects of the cluster that For and its Check read: a row of the
	// invalidation matrix. While none of them changes, neither does a verdict.
	Aspects() cluster.Aspect
	// For prepares the predicate for a pod. It returns nil when the pod fits
	// everywhere as far as this predicate goes.
	For(pod *cluster.Pod, snap *cluster.Snapshot) Check
}

// Check is a predicate prepared for a pod. Most look at one node and are a
// [CheckFunc]; one that looks at others as well is [Spanning]. One that read the
// objects of the cluster may be [Selective] about them.
//
// A Check belongs to one goroutine at a time, unless it is [Concurrent].
type Check interface {
	Verdict(node *cluster.Node) Verdict
}

// Plural is a Check that may have several reasons against a node. All of them are told to people;
// kube-scheduler is told the first one.
type Plural interface {
	Check
	// Verdicts visits all verdicts against the node. The first one has the reason of Verdict.
	Verdicts(node *cluster.Node, visit func(Verdict))
}

// Undecided is a Check that gives nodes up about which it takes too long to decide.
type Undecided interface {
	Check
	// Retry returns the indexes of the nodes that it gave up, once that is some time ago at a moment: ask about them again.
	Retry(now time.Time) []int32
}

// CheckFunc is a Check that needs to see nothing but the node.
type CheckFunc func(node *cluster.Node) Verdict

// Verdict implements [Check].
func (f CheckFunc) Verdict(node *cluster.Node) Verdict { return f(node) }

// Digest is a plugin's summary of all nodes, by which it judges or rates one node in view of the others. It
// starts empty.
type Digest interface {
	// Update takes in what has become of the nodes of those indexes, each named once,
	// up to a snapshot; see [cluster.Snapshot.Node]. A node that is gone is nil there.
	// All other nodes are the same in the aspects of the plugin as at the last Update.
	Update(snap *cluster.Snapshot, nodes []int32)
	// Suppose puts a state that a node might have in the place of its own, until the
	// next Update or Suppose about it. Only the pods on it may differ. The snapshot is
	// that of the last Update.
	Suppose(snap *cluster.Snapshot, node *cluster.Node)
}

// Spanning is a Check whose verdict on a node depends on other nodes as well, such as the nodes in its failure
// domain. It must know of a node before it is asked about it.
type Spanning interface {
	Check
	Digest
	// Turned visits the indexes of all nodes whose verdicts other nodes may have turned since the last call:
	// none, the nodes of a failure domain, or all. It may visit an index twice, and one that is not in use. It
	// need not visit the nodes that were updated.
	Turned(visit func(index int32))
	// Group is the same for nodes that have the same verdict, whatever becomes of other
	// nodes. That of a node, which may be a supposed one, changes only when a pod comes to
	// it or goes from it that the check minds; see [mindful].
	Group(node *cluster.Node) uint64
}

// mindful is a Digest that can tell which pods it is about. To one that is not, every pod
// may matter.
type mindful interface {
	// minds says that it might say something else, on that node or another one, if the pod
	// came to a node or went. It is the same for pods of one class.
	minds(pod *cluster.Pod) bool
}

// Selective is a Check or a Comparison that can tell which objects of the cluster it depends on. Any other is
// prepared again whenever an object of the kinds among the plugin's aspects changes.
type Selective interface {
	// DependsOn says whether preparing the check again might make a difference after one object has changed:
	// its kind goes with the aspect, and before and after hold its two states.
	DependsOn(kind cluster.Aspect, name types.NamespacedName, before, after *cluster.Objects) bool
}

// registration is a line of the list of plugins.
type registration struct {
	name   string
	filter func(*config.Profile) (Predicate, error)
	score  func(*config.Profile) (Score, error)
}

// Plugin is a plugin of a package above this one, made for one profile.
type Plugin struct {
	// Name of the plugin, as in config.KnownPlugins.
	Name string
	// Filter makes its predicate, and is nil if it has none. first is the verdict that stands
	// for the first of its Reasons, the next one for the second, and so on.
	Filter func(first Verdict) Predicate
	// Reasons are constant texts against nodes.
	Reasons []string
	// Score is nil if it has none.
	Score Score
	// Reads returns what the plugin reads of a pod that is asked about beside its namespace, labels and
	// spec.containers, in a form that is equal for pods that the plugin treats alike. Pods with different forms
	// have different classes.
	Reads func(pod *cluster.Pod) string
}

// registrations is the one list of what this package has. It answers to the table
// config.KnownPlugins, which says what runs by default.
func registrations() []registration {
	return []registration{
		{name: config.NodeUnschedulable, filter: newNodeUnschedulable},
		{name: config.NodeName, filter: newNodeName},
		{name: config.TaintToleration, filter: newTaintToleration, score: newTaintTolerationScore},
		{name: config.NodeAffinity, filter: newNodeAffinity, score: newNodeAffinityScore},
		{name: config.NodePorts, filter: newNodePorts},
		{name: config.NodeResourcesFit, filter: newNodeResourcesFit, score: newNodeResourcesFitScore},
		{name: config.VolumeRestrictions, filter: newVolumeRestrictions},
		{name: config.NodeVolumeLimits, filter: newNodeVolumeLimits},
		{name: config.VolumeBinding, filter: newVolumeBinding},
		{name: config.VolumeZone, filter: newVolumeZone},
		{name: config.PodTopologySpread, filter: newPodTopologySpread, score: newPodTopologySpreadScore},
		{name: config.InterPodAffinity, filter: newInterPodAffinity, score: newInterPodAffinityScore},
		{name: config.NodeResourcesBalancedAllocation, score: newBalancedAllocation},
		{name: config.ImageLocality, score: newImageLocality},
		{name: config.NodeDeclaredFeatures, filter: newNodeDeclaredFeatures},
		{name: config.DynamicResources, filter: newDynamicResources},
		{name: config.NodeConditions, filter: newNodeConditions},
		{name: config.ServiceAffinity, filter: newServiceAffinity},
		{name: config.WholeDomains, score: newWholeDomains},
	}
}

func find(known []registration, name string) (registration, error) {
	for _, r := range known {
		if r.name == name {
			return r, nil
		}
	}
	return registration{}, fmt.Errorf("plugin %q is not known", name)
}
