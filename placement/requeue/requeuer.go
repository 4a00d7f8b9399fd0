package requeue

import (
	"context"
	"fmt"
	"time"

	gocache "github.com/patrickmn/go-cache"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// Options of a Requeuer. All are required, but a seed may be 0.
type Options struct {
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	Cluster    *cluster.Cluster
	Profiles   *predicates.Profiles
	// Alone says that a pod is placed for itself: nobody else sees to it that it is tried.
	Alone  func(*cluster.Pod) bool
	Client Client
	// Writer is run by somebody else, and may be shared.
	Writer *nomination.Writer
	// Seed breaks ties between nodes.
	Seed uint64
}

// Client writes to pods.
type Client interface {
	// Wake has kube-scheduler try a pod again that an extender has refused.
	Wake(ctx context.Context, pod *corev1.Pod) error
	// WakeAll has kube-scheduler try a pod again, and all others of the same or a lower priority that
	// wait for room. The pod fits on the node, or may evict others there.
	WakeAll(ctx context.Context, pod *corev1.Pod, node string) error
}

// Requeuer wakes pods. Its methods are safe for concurrent use.
type Requeuer struct {
	clock    clock.WithTicker
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	alone    func(*cluster.Pod) bool
	client   Client
	writer   *nomination.Writer
	woken    *prometheus.CounterVec
	seed     uint64                              // of the next trial; only Run uses it
	rounds   map[*predicates.VerdictStore]*round // of the last look; only Run uses them

	mu        lock.Mutex
	waiting   map[types.UID]*waiter
	strangers *gocache.Cache // what refused pods may evict that the watch does not show yet, by UID, for strangerTime
	looked    uint64         // the generation of the last look: a pod that was not there then came later
}

// Ways to wake a pod.
const (
	byAnnotation = "annotation"
	byNomination = "nomination"
)

// New returns a Requeuer that does nothing until it is run.
func New(o Options) *Requeuer {
	r := &Requeuer{
		mu:    lock.New(lock.Inbox),
		clock: o.Clock, cluster: o.Cluster, profiles: o.Profiles, alone: o.Alone, client: o.Client, writer: o.Writer, seed: o.Seed,
		waiting: map[types.UID]*waiter{}, strangers: gocache.New(strangerTime, 0), // swept by Run
		woken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_pods_woken_total",
			Help: "Pods that kube-scheduler was asked to try again, as they fit by what has changed since they were refused, by what was written.",
		}, []string{"by"}),
	}
	for _, way := range []string{byAnnotation, byNomination} {
		r.woken.WithLabelValues(way)
	}
	o.Registerer.MustRegister(r.woken)
	return r
}

// tick is how often it is looked whether room was freed, or anything has changed.
const tick = time.Second

// Run wakes pods until the context ends. The view of the cluster must be complete, and no other
// process may be running one. A Requeuer can be run once.
func (r *Requeuer) Run(ctx context.Context) {
	replaced := r.profiles.Replaced()
	stop := r.cluster.FollowPending(r.follow)
	defer stop()
	r.lookAnew()
	ticker := r.clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-replaced:
			replaced = r.profiles.Replaced()
			r.lookAnew()
		case <-ticker.C():
			r.look()
			r.strangers.DeleteExpired()
		}
	}
}

// follow is told of pods that wait, while the cluster is locked.
func (r *Requeuer) follow(event cluster.PodEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Pod == nil {
		delete(r.waiting, event.UID)
		return
	}
	w := r.waiting[event.UID]
	if w == nil {
		w = &waiter{since: r.looked}
		r.waiting[event.UID] = w
		if may, refused := r.strangers.Get(string(event.UID)); refused {
			w.heard, w.postponed = unknown, may.(postponement) // muster refused it without having seen it
			r.strangers.Delete(string(event.UID))
		}
	}
	began := w.pod == nil || !w.preempts()
	if w.pod = event.Pod; began && w.preempts() {
		w.until = r.clock.Now().Add(victimRest)
	}
}

// Refused says that muster has refused a pod on all nodes that kube-scheduler asked about, as the cluster was at a
// generation or later. So it has heard of its last wake. One that the watch does not show yet is looked at when it does.
func (r *Requeuer) Refused(uid types.UID, generation uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[uid]
	if w == nil {
		r.noteStranger(uid, postponement{})
		return
	}
	w.refused = generation
	if w.heard == woken {
		w.heard = nothing
	}
}

// Postponed says that a pod may evict nobody on a node, as the cluster was at a generation or later, but will once
// [cluster.Cluster.NoteFreed] was called, or after a time if that is not 0. kube-scheduler hears nothing of that. A pod that the watch
// does not show yet may once it does.
func (r *Requeuer) Postponed(uid types.UID, node string, generation uint64, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiting[uid]; w != nil {
		w.postponed = postponement{node: node, generation: generation}
		if after > 0 {
			w.postponed.until = r.clock.Now().Add(after)
		}
		return
	}
	r.noteStranger(uid, postponement{node: node})
}

// noteStranger remembers that a pod was refused that the watch has yet to show, or that waits no more.
func (r *Requeuer) noteStranger(uid types.UID, may postponement) {
	if r.strangers.ItemCount() < mostStrangers {
		r.strangers.SetDefault(string(uid), may)
	}
}

// postpone replaces what a pod may evict later, and returns what that was.
func (r *Requeuer) postpone(uid types.UID, p postponement) (before postponement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiting[uid]; w != nil {
		before, w.postponed = w.postponed, p
	}
	return before
}

// mostStrangers are remembered, each for strangerTime: a caller may make pods up.
const (
	mostStrangers = 10000
	strangerTime  = 5 * time.Minute
)

// lookAnew has all pods looked at that wait now, whatever was freed.
func (r *Requeuer) lookAnew() {
	generation := r.cluster.Snapshot().Generation
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = generation
	for _, w := range r.waiting {
		w.heard = unknown
	}
}

// wake has a pod woken, by an annotation. It may be deaf to that.
func (r *Requeuer) wake(pod *cluster.Pod) {
	r.write(pod, byAnnotation, woken, func(ctx context.Context) error { return r.client.Wake(ctx, pod.Pod) })
}

// wakeAll has a pod woken that was deaf to an annotation or may evict others now, and others with it. It may be told at
// once that it has to wait for longer.
func (r *Requeuer) wakeAll(pod *cluster.Pod, node string) {
	r.write(pod, byNomination, nothing, func(ctx context.Context) error {
		before := r.postpone(pod.UID, postponement{})
		err := r.client.WakeAll(ctx, pod.Pod, node)
		if err != nil {
			r.postpone(pod.UID, before)
		}
		return err
	})
}

// write has something written about a pod, unless that waits no more when its turn comes, and notes
// what is known of the pod then.
func (r *Requeuer) write(pod *cluster.Pod, way string, then heard, request func(context.Context) error) {
	r.writer.Post(func(ctx context.Context) (bool, error) {
		if r.cluster.PendingPod(pod.UID) == nil {
			return false, nil
		}
		if err := request(ctx); err != nil {
			r.hears(pod.UID, unknown)
			return true, fmt.Errorf("wake %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		r.hears(pod.UID, then)
		r.woken.WithLabelValues(way).Inc()
		return true, nil
	})
}

func (r *Requeuer) hears(uid types.UID, what heard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiting[uid]; w != nil {
		w.heard = what
	}
}
