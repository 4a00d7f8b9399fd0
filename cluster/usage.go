package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Usage is the measured usage of a node. It is immutable: new figures make a new Usage.
type Usage struct {
	// Updated is when the figures were taken, zero when there have never been any.
	Updated time.Time
	// Interval is the time between two reports, 0 when the source does not say.
	Interval time.Duration
	// Seen is the time when the figures were last looked at. Their age is taken at that time, and not at the
	// present one, so that a verdict on a node depends on the node's state alone. A writer of Usage sets a new
	// one, with a later Seen, once its age comes to matter.
	Seen time.Time

	// Node is the usage of the whole node, pods included.
	Node Resources
	// System is the usage of the node beside its pods.
	System Resources
	// Pressure is how much processes of the node had to wait.
	Pressure Pressure
	// Aggregated are statistics of what the whole node used, in no order.
	Aggregated []Aggregate
	// Pods is the usage of single pods of the node. A pod may be missing, or be gone.
	Pods map[types.NamespacedName]PodUsage
}

// Age returns how old the figures were when they were last looked at.
func (u *Usage) Age() time.Duration { return u.Seen.Sub(u.Updated) }

// Pressure is the share of time in which processes of a node wait for a resource, in percent, 0 where it is not
// measured. Linux calls it pressure stall information.
type Pressure struct{ CPU, Memory float64 }

// Aggregate is a statistic of what a node used.
type Aggregate struct {
	// Type is "avg", or a percentile as in "p95".
	Type string
	// Duration is the length of time that it is over.
	Duration time.Duration
	// Used is its value.
	Used Resources
}

// PodUsage is the usage of one pod.
type PodUsage struct {
	Used Resources
	// Priority is the priority class of the pod as the source has it, as in "koord-prod";
	// "" when it does not say.
	Priority string
}

// SetUsage applies what was measured on a node, or with nil that nothing is known any
// more. It is kept for a node that is not known yet, or goes and comes again.
func (c *Cluster) SetUsage(node string, usage *Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fleet.setUsage(node, usage)
}
