// Package source brings what nodes and their pods use into the view of the cluster.
//
//	NodeMetric objects ──────────────┐
//	metrics.k8s.io ──┐               ├──→ Keeper ──→ cluster.SetUsage
//	Prometheus ──────┴──→ Poller ────┘
//	                        └──────→ another Follower
//
// Whatever the source, a report about a node is one [cluster.Usage], told to a [Follower]. NodeMetrics
// are watched and carry all of it. The other two are [Reader]s, which a [Poller] asks again and
// again: it adds what the node uses beside its pods and, from the [history] that it keeps,
// averages and percentiles.
//
// What holds at any time:
//
//   - Nothing waits for a source. While it cannot be reached the last figures stay, and get older: their
//     readers decide what that means. [Health] says it once to people.
//   - The [Keeper] alone lets time pass: it sets the usage of a node when there is a report,
//     and once more when its age crosses a length of time that somebody cares about.
//   - Figures are never mixed: a report has all of a node or does not come.
//   - A figure of a node that nobody can believe is a [Refusal]: that node is not measured, and all others are.
package source

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

// Follower is told what nodes use. It is called from one goroutine at a time.
type Follower interface {
	// Report says what was measured on a node, or with nil that nothing is known of it any
	// more. The usage has not been Seen, and must not be changed.
	Report(node string, usage *cluster.Usage)
}

// KeeperOptions are the options of a Keeper. All are required.
type KeeperOptions struct {
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	Cluster    *cluster.Cluster
	// Expirations are the ages of figures that matter to somebody. There may be none.
	Expirations []time.Duration
}

// Keeper sets the usage of nodes in the view of the cluster: when it is reported, and again when its age
// crosses one of the expirations. It is safe for concurrent use.
type Keeper struct {
	clock   clock.PassiveClock
	cluster *cluster.Cluster
	due     workqueue.TypedDelayingInterface[string]

	mu          sync.Mutex
	expirations []time.Duration           // ascending
	latest      map[string]*cluster.Usage // by node, as last set
}

var _ Follower = (*Keeper)(nil)

// NewKeeper returns a Keeper, which must be run: that also ends what NewKeeper starts.
func NewKeeper(o KeeperOptions) *Keeper {
	k := &Keeper{
		clock: o.Clock, cluster: o.Cluster, expirations: slices.Clone(o.Expirations),
		due:    workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: o.Clock}),
		latest: map[string]*cluster.Usage{},
	}
	slices.Sort(k.expirations)
	o.Registerer.MustRegister(newKeeperMetrics(k))
	return k
}

// Report implements Follower.
func (k *Keeper) Report(node string, usage *cluster.Usage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if usage == nil {
		delete(k.latest, node)
		k.cluster.SetUsage(node, nil)
		return
	}
	k.set(node, usage)
}

// Expire has other ages of figures matter from now on.
func (k *Keeper) Expire(ages []time.Duration) {
	ages = slices.Sorted(slices.Values(ages))
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Equal(ages, k.expirations) {
		return
	}
	k.expirations = ages
	for node, usage := range k.latest {
		k.set(node, usage)
	}
}

// expired counts the ages, which are ascending, that a profile does not believe.
func (k *Keeper) expired(ages []time.Duration) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.expirations) == 0 {
		return 0
	}
	first, _ := slices.BinarySearch(ages, k.expirations[0])
	return len(ages) - first
}

// Run has figures expire until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, k.due.ShutDown)
	defer stop()
	for {
		node, ended := k.due.Get()
		if ended {
			return
		}
		k.age(node)
		k.due.Done(node)
	}
}

// age sets the usage of a node again if its age has crossed an expiration.
func (k *Keeper) age(node string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	usage := k.latest[node]
	if usage == nil {
		return
	}
	if next, comes := k.crossing(usage); comes && next.After(k.clock.Now()) {
		k.due.AddAfter(node, next.Sub(k.clock.Now())) // there has been a report since
	} else if comes {
		k.set(node, usage)
	}
}

// set sets the usage of a node as it is seen now.
func (k *Keeper) set(node string, usage *cluster.Usage) {
	seen := *usage
	seen.Seen = k.clock.Now()
	k.latest[node] = &seen
	k.cluster.SetUsage(node, &seen)
	if next, comes := k.crossing(&seen); comes {
		k.due.AddAfter(node, next.Sub(seen.Seen))
	}
}

// crossing returns when the age of figures, as they were last seen, crosses the next expiration.
func (k *Keeper) crossing(usage *cluster.Usage) (at time.Time, comes bool) {
	if usage.Updated.IsZero() {
		return time.Time{}, false // older than anything
	}
	for _, expiration := range k.expirations {
		if at := usage.Updated.Add(expiration); at.After(usage.Seen) {
			return at, true
		}
	}
	return time.Time{}, false
}

// Ages returns how old the figures of all nodes are by now, by the names of the nodes. That of a
// node whose source never measured anything is negative.
func (k *Keeper) Ages() map[string]time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	ages := make(map[string]time.Duration, len(k.latest))
	for node, usage := range k.latest {
		if usage.Updated.IsZero() {
			ages[node] = -1
		} else {
			ages[node] = max(0, now.Sub(usage.Updated))
		}
	}
	return ages
}
