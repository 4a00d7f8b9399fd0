package source

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

// Reading is the answer of a source.
type Reading struct {
	// Nodes are the nodes that were measured, by name.
	Nodes map[string]NodeReading
	// Pods is the usage of pods.
	Pods map[types.NamespacedName]cluster.Resources
	// Refused are the absurd figures. Their nodes and pods are in neither of the two.
	Refused []Refusal
	// Series is how many series of nodes, or of pods, each query had, by its place in the configuration.
	Series map[string]int
}

// NodeReading is the usage of a node.
type NodeReading struct {
	// At is when it was measured, Window the time that it is an average over.
	At     time.Time
	Window time.Duration
	Used   cluster.Resources
	// Pressure is how much its processes have to wait, zero when the source does not say.
	Pressure cluster.Pressure
	// Aggregated are statistics, none when the source has none.
	Aggregated []cluster.Aggregate
}

// Reader asks a source. A source with statistics of its own is asked for those over some durations.
type Reader interface {
	Read(ctx context.Context, over []time.Duration) (*Reading, error)
}

// PollerOptions are the options of a Poller. All but Durations are required.
type PollerOptions struct {
	Clock    clock.WithTicker
	Cluster  *cluster.Cluster
	Reader   Reader
	Health   *Health
	Interval time.Duration
	// Timeout is how long an answer may take.
	Timeout time.Duration
	// Priority is the name of a pod's priority class, as in "koord-prod".
	Priority func(*cluster.Pod) string
	// Durations are the times that somebody wants statistics of a node over, besides the usual ones. They are
	// bounded as [Durations] says. It may be nil.
	Durations func(node string) []time.Duration
	// Followers are told in this order.
	Followers []Follower
}

// Poller asks a Reader again and again, and makes reports of what it answers.
type Poller struct {
	PollerOptions
	nodes map[string]*history // of nodes that were reported
}

// NewPoller returns a Poller that has seen nothing.
func NewPoller(o PollerOptions) *Poller {
	return &Poller{PollerOptions: o, nodes: map[string]*history{}}
}

// Run asks at once, and then in every interval until the context ends. The view of the cluster
// must be complete.
func (p *Poller) Run(ctx context.Context) {
	tick := p.Clock.NewTicker(p.Interval)
	defer tick.Stop()
	for {
		p.Poll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
	}
}

// Poll asks once. The view of the cluster must be complete.
func (p *Poller) Poll(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	snap := p.Cluster.Snapshot()
	reading, err := p.Reader.Read(asking, p.durations(snap))
	if ctx.Err() != nil {
		return
	}
	p.Health.Observe(err)
	snap = p.Cluster.Snapshot()
	for name := range p.nodes {
		if snap.NodeByName(name) == nil {
			delete(p.nodes, name)
			p.tell(name, nil)
		}
	}
	if err != nil {
		return
	}
	p.Health.Measured(reading, snap)
	for name, node := range reading.Nodes {
		if known := snap.NodeByName(name); known != nil {
			p.report(known, node, reading.Pods)
		}
	}
}

// durations returns the times that statistics of some node are wanted over.
func (p *Poller) durations(snap *cluster.Snapshot) []time.Duration {
	var wanted []time.Duration
	if p.Durations != nil {
		for node := range snap.Nodes() {
			wanted = append(wanted, p.Durations(node.Name)...)
			if wanted = Durations(wanted); len(wanted) == len(usualDurations())+mostDurations {
				break
			}
		}
	}
	return Durations(wanted)
}

// report tells what a node uses, if that was measured after the last time.
func (p *Poller) report(node *cluster.Node, read NodeReading, pods map[types.NamespacedName]cluster.Resources) {
	over := usualDurations()
	if p.Durations != nil {
		over = Durations(p.Durations(node.Name))
	}
	past := p.nodes[node.Name]
	if past == nil {
		past = newHistory(p.Interval)
		p.nodes[node.Name] = past
	}
	past.span = slices.Max(over)
	if !past.add(sample{read.At, read.Used}) {
		return
	}
	usage := &cluster.Usage{
		Updated: read.At, Interval: read.Window, Node: read.Used, Pressure: read.Pressure,
		Pods: make(map[types.NamespacedName]cluster.PodUsage, len(node.Pods)),
	}
	if read.Aggregated == nil {
		usage.Aggregated = past.aggregates(over)
	}
	for _, aggregate := range read.Aggregated {
		if slices.Contains(over, aggregate.Duration) {
			usage.Aggregated = append(usage.Aggregated, aggregate)
		}
	}
	rest := read.Used
	for _, pod := range node.Pods {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		if used, measured := pods[name]; measured {
			usage.Pods[name] = cluster.PodUsage{Used: used, Priority: p.Priority(pod)}
			rest = minus(rest, used)
		}
	}
	usage.System = rest
	p.tell(node.Name, usage)
}

func (p *Poller) tell(node string, usage *cluster.Usage) {
	for _, follower := range p.Followers {
		follower.Report(node, usage)
	}
}

// minus returns the rest of amounts, never below nothing: a node and its pods are not measured at the same
// instant.
func minus(from, amounts cluster.Resources) cluster.Resources {
	left := cluster.Resources{
		MilliCPU:         max(0, from.MilliCPU-amounts.MilliCPU),
		Memory:           max(0, from.Memory-amounts.Memory),
		EphemeralStorage: max(0, from.EphemeralStorage-amounts.EphemeralStorage),
	}
	for _, scalar := range from.Scalars {
		if rest := scalar.Amount - amounts.Scalar(scalar.Name); rest > 0 {
			left.Scalars = append(left.Scalars, cluster.Scalar{Name: scalar.Name, Amount: rest})
		}
	}
	return left
}
