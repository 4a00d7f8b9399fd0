// Package cluster is the one view of the Kubernetes cluster that every part of
// muster shares.
//
// Events (from the informers of a watch.Watcher, from a dump by [Cluster.Load], or
// from muster's own decisions) are applied one after the other by a single
// writer, which publishes immutable [Snapshot]s:
//
//   - Nodes stand under dense indexes, so that verdicts and scores can be kept
//     in slices. An index is stable while its node exists and is reused after.
//   - A [Node] is never changed. When something on it changes, the writer
//     replaces it, so holding a snapshot is free and reading it needs no lock.
//   - What is part of no node (volumes, services, namespaces, …) is one value,
//     [Objects], which snapshots share until something in it changes.
//   - A journal says, for every generation, which node or object changed in
//     which [Aspect]; a reader that remembers a generation learns from
//     [Snapshot.Since] what it has to look at again.
//   - A pod whose place is known but not yet seen by the watch is *assumed*:
//     it counts on its node until the watch confirms or refutes it, or until
//     it expires.
//
// A [Cluster] is one lock over four parts, and none of them knows the lock: the view makes snapshots and keeps
// the journal; the ledger says where pods count, assumed, held and expected ones included; the fleet assembles
// nodes from everything known about them; a fourth part keeps the waiting pods and tells their followers.
//
// Anything that depends on more than one read takes one snapshot and stays
// with it:
//
//	snap := c.Snapshot()
//	for node := range snap.Nodes() {
//		free := node.Allocatable.MilliCPU - node.Requested.MilliCPU
//		...
//	}
//
// The package depends on no other package of muster but api.
package cluster

import (
	"log/slog"
	"slices"
	"sync"
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
	// Live says that a watch fills the view, which may show the owner of a pod after the pod. Else the view has
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

	log        *slog.Logger
	metrics    *metrics
	affinities *affinities

	mu           lock.Mutex // serialises writers; guards everything below, except what the view has published
	view         view
	ledger       *ledger
	fleet        *fleet
	waiting      *waiting
	claims       claims
	podFollowers followers[PodState] // of all pods
}

// New returns an empty cluster. Fill it with Set and Delete, from informers
// (see package watch) or from a dump (see [Cluster.Load]).
func New(o Options) *Cluster {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c := &Cluster{log: o.Logger, mu: lock.New(lock.View), metrics: newMetrics(), affinities: newAffinities()}
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

// followers are functions that are told of events, while the cluster is locked.
type followers[Event any] []*func(Event)

func (f *followers[Event]) tell(event Event) {
	for _, follow := range *f {
		(*follow)(event)
	}
}

// add adds a function, and returns what takes it off again. The caller of add holds the
// lock.
func (f *followers[Event]) add(lock sync.Locker, follow func(Event)) (stop func()) {
	follower := &follow
	*f = append(*f, follower)
	return func() {
		lock.Lock()
		defer lock.Unlock()
		*f = slices.DeleteFunc(slices.Clone(*f), func(other *func(Event)) bool { return other == follower })
	}
}

// PodState is the state of a pod as the watch shows it.
type PodState struct {
	UID types.UID
	// Pod is the pod, with or without a node, nil when it is gone or has finished.
	Pod *Pod
}

// FollowPods has a function told of all present pods, in the order of their
// names, and of every later change, in the order of the watch, until stop is called.
// Assumptions are no changes. The function is called while the cluster is locked: it must
// return at once and not call the cluster.
func (c *Cluster) FollowPods(follow func(PodState)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []*Pod
	for _, pod := range c.waiting.pending {
		pods = append(pods, pod)
	}
	for uid, at := range c.ledger.placed {
		if _, pending := c.waiting.pending[uid]; !pending && c.ledger.assumed[uid] == nil && !at.pod.Placeholder {
			pods = append(pods, at.pod)
		}
	}
	slices.SortFunc(pods, byName)
	for _, pod := range pods {
		follow(PodState{UID: pod.UID, Pod: pod})
	}
	return c.podFollowers.add(&c.mu, follow)
}

type metrics struct {
	assumed     *prometheus.CounterVec
	ownersAsked *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		assumed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_cluster_assumptions_total",
			Help: "Assumed pods by what became of them: confirmed, refuted, released or expired.",
		}, []string{"outcome"}),
		ownersAsked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_cluster_owners_asked_total",
			Help: "Owners of pods that no watch had shown and the API server was asked for, by its answer: present, absent, denied or failed.",
		}, []string{"answer"}),
	}
	for _, answer := range answers() {
		m.ownersAsked.WithLabelValues(string(answer))
	}
	for _, outcome := range []string{outcomeConfirmed, outcomeRefuted, outcomeReleased, outcomeExpired} {
		m.assumed.WithLabelValues(outcome)
	}
	return m
}

// register registers all metrics of a cluster.
func (m *metrics) register(r prometheus.Registerer, c *Cluster) {
	counted := func(name, help string, count func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(count())
		})
	}
	r.MustRegister(
		m.assumed,
		m.ownersAsked,
		counted("muster_cluster_nodes", "Nodes in the view of the cluster.", func() int { return len(c.view.index) }),
		counted("muster_cluster_placed_pods", "Pods that count on a node, assumed ones included.", func() int { return len(c.ledger.placed) }),
		counted("muster_cluster_assumed_pods", "Pods that count on a node before the watch has shown them there.",
			func() int { return len(c.ledger.assumed) }),
		counted("muster_cluster_pending_pods", "Pods without a node.", func() int { return len(c.waiting.pending) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "muster_cluster_changes_total",
			Help: "Changes applied to the view of the cluster; its generation.",
		}, func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(c.view.generation)
		}),
	)
}
