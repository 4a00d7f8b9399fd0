package core

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

// View is the part of the cluster that an event may read. It stays the same while an event is applied, except for what is
// asked of [Ports] meanwhile.
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
	// Pods returns all pods that count on nodes.
	Pods() iter.Seq[*cluster.Pod]
	// Assumed returns the node on which a pod counts before the watch shows it there, "" for none.
	Assumed(uid types.UID) string
	// Binding returns the node to which a pod may be bound any moment, "" for none.
	Binding(uid types.UID) string
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
