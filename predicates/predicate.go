package predicates

import (
	"fmt"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// Predicate is one reason why a node may not take a pod. Implementations are
// immutable and safe for concurrent use.
type Predicate interface {
	// Name is the plugin's name in kube-scheduler.
	Name() string
	// Aspects are the aspects of the cluster that a Check reads. While none of
	// them changes on a node, neither does the verdict on it.
	Aspects() cluster.Aspect
	// For prepares the predicate for a pod. It returns nil when the pod fits
	// everywhere as far as this predicate goes.
	For(pod *cluster.Pod, snap *cluster.Snapshot) Check
}

// Check is a predicate prepared for a pod. It is asked once per node.
type Check func(node *cluster.Node) Verdict

// Score is one reason to prefer a node. Implementations are immutable and safe
// for concurrent use.
type Score interface {
	// Name is the plugin's name in kube-scheduler.
	Name() string
	// Aspects are the aspects of the cluster that a Rate reads.
	Aspects() cluster.Aspect
	// For prepares the score for a pod. It returns nil when it rates all nodes
	// alike.
	For(pod *cluster.Pod, snap *cluster.Snapshot) Rate
}

// MaxScore is the best that a Rate can say of a node; the worst is 0.
const MaxScore = 100

// Rate is a score prepared for a pod. It is asked once per node.
type Rate func(node *cluster.Node) int64

// registration is a line of the list of plugins.
type registration struct {
	name   string
	filter func(*v1alpha2.Profile) (Predicate, error)
	score  func(*v1alpha2.Profile) (Score, error)
}

// registrations is the one list of what there is. It answers to the table
// v1alpha2.KnownPlugins, which says what runs by default.
func registrations() []registration {
	return []registration{
		{name: v1alpha2.NodeUnschedulable, filter: newNodeUnschedulable},
		{name: v1alpha2.NodeName, filter: newNodeName},
		{name: v1alpha2.TaintToleration, filter: newTaintToleration},
		{name: v1alpha2.NodeAffinity, filter: newNodeAffinity},
		{name: v1alpha2.NodePorts, filter: newNodePorts},
		{name: v1alpha2.NodeResourcesFit, filter: newNodeResourcesFit, score: newNodeResourcesFitScore},
		{name: v1alpha2.NodeResourcesBalancedAllocation, score: newBalancedAllocation},
	}
}

func register(name string) (registration, error) {
	for _, r := range registrations() {
		if r.name == name {
			return r, nil
		}
	}
	return registration{}, fmt.Errorf("plugin %q is not known", name)
}
