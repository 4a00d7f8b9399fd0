package cluster

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster/lock"
)

// Options of a Cluster.
type Options struct {
	Logger     *slog.Logger          // required
	Registerer prometheus.Registerer // required
	// AssumeTTL is how long an assumed pod is counted on its node while the
	// watch neither confirms nor refutes it. Required.
	AssumeTTL time.Duration
	// Affiliator says to what pods belong; to nothing when nil.
	Affiliator Affiliator
	// Live says that a Watcher fills the view, which may show the owner of a pod after the pod. Else the view has
	// everything at once.
	Live bool
	// Clock says when assumptions expire; by default the real one.
	Clock clock.WithDelayedExecution
}

// Cluster holds the state of the cluster and publishes snapshots of it. All
// methods are safe for concurrent use; changes are applied one at a time.
type Cluster struct {
	// Owners say to what pods belong.
	Owners *Owners

	log     *slog.Logger
	metrics *metrics

	mu           lock.Mutex // serialises writers; guards everything below, except what the view has published
	view         view
	ledger       *ledger
	fleet        *fleet
	waiting      *waiting
	claims       claims
	podFollowers followers[PodState] // of all pods
}

// New returns an empty cluster. Fill it with Set and Delete, from informers
// (see [Watcher]) or from a dump (see [Cluster.Load]).
func New(o Options) *Cluster {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c := &Cluster{log: o.Logger, mu: lock.New(lock.View), metrics: newMetrics()}
	c.view.begin()
	c.ledger = &ledger{
		view: &c.view, log: o.Logger, term: o.AssumeTTL, clock: o.Clock, lock: &c.mu, outcomes: c.metrics.assumed,
		placed: map[types.UID]place{}, assumed: map[types.UID]*assumption{}, expected: map[types.UID]*expectation{},
		orphans: map[string]map[types.UID]*Pod{},
	}
	c.fleet = &fleet{
		view:      &c.view,
		ledger:    c.ledger,
		csi:       map[string]*storagev1.CSINode{},
		usage:     map[string]*Usage{},
		inventory: newInventory(),
	}
	c.waiting = &waiting{
		view: &c.view, ledger: c.ledger,
		pending: map[types.UID]*Pod{}, nominated: map[types.UID]*Pod{}, awaited: map[types.UID]*arrival{},
		newcomers: noNewcomers(),
	}
	c.claims = newClaims(c.fleet, c.waiting)
	c.Owners = newOwners(&o, c)
	c.metrics.register(o.Registerer, c)
	return c
}

// Snapshot returns the present state. It is cheap: nothing is copied unless
// something changed, and then only what did.
func (c *Cluster) Snapshot() *Snapshot {
	if last := c.view.fresh(); last != nil {
		return last
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.publish()
}

// PendingPod returns the pod of that UID as the watch last showed it without a
// node, nil when it shows none.
func (c *Cluster) PendingPod(uid types.UID) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.pending[uid]
}

// FindPod returns a pod by its name, with or without a node, nil when there is none.
// It looks at every pod and is meant for people who ask.
func (c *Cluster) FindPod(name types.NamespacedName) *Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.waiting.pending {
		if key(pod) == name {
			return pod
		}
	}
	for _, place := range c.ledger.placed {
		if key(place.pod) == name && !place.pod.Placeholder {
			return place.pod
		}
	}
	return nil
}

// setPod applies what the watch says of a pod that has not finished.
func (c *Cluster) setPod(pod *Pod) {
	defer c.waiting.arrive(pod.UID)
	c.podFollowers.tell(PodState{UID: pod.UID, Pod: pod})
	if pod.Spec.NodeName == "" {
		c.waiting.set(pod)
		c.ledger.update(pod)
		return
	}
	passedBy := c.waiting.passesBy(pod)
	c.waiting.remove(pod.UID, pod.Spec.NodeName)
	c.ledger.show(pod)
	if passedBy {
		c.view.markFreed()
	}
}

// removePod applies that a pod is gone or finished.
func (c *Cluster) removePod(pod *corev1.Pod) {
	uid := pod.UID
	c.ledger.unexpect(uid, "")
	c.podFollowers.tell(PodState{UID: uid})
	c.claims.forget(uid)
	c.waiting.remove(uid, "")
	c.ledger.unassume(uid, outcomeRefuted)
	c.ledger.take(uid)
	c.waiting.arrive(uid)
	c.Owners.lose(pod)
}
