// Package backfilltest has a cluster whose pods end in time, for tests and benchmarks of room in time.
package backfilltest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/backfill"
)

// skew is by how much the clock of the API server is ahead of this process.
const skew = time.Hour

// World is a cluster whose pods end in time, with the parts of muster that give room in time, and a scheduler that calls them. It is in a
// bubble of package synctest, and is used by the goroutine of the test alone.
type World struct {
	*testing.T
	Cluster  *cluster.Cluster
	Booker   *backfill.Booker
	Registry *prometheus.Registry
	History  *runtimes.History
	// Learns says that pods that have ended are learned from.
	Learns bool
	// Ended is how many pods have ended, and Started is told of each pod that is bound.
	Ended   int
	Started func(pod string)

	store  *predicates.VerdictStore
	keeper *reservation.Keeper
	gangs  *gang.Manager

	mu      sync.Mutex
	waiting []*corev1.Pod       // in the order of the queue, without a node
	running map[string]*running // by name
	held    map[string]bool     // pods whose bind call is held
	tried   map[string]attempt
}

// running is a pod that has a node.
type running struct {
	pod      *corev1.Pod
	from, to time.Time
}

// attempt is when a pod was tried last, and what the cluster was like.
type attempt struct {
	at                time.Time
	generation, freed uint64
}

// patience is after what time a pod is tried though nothing has changed.
const patience = 10 * time.Second

// Run runs a test with a profile, and a Booker that books room after a time, 0 for ever.
func Run(t *testing.T, profile *config.Profile, after time.Duration, test func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		profile, err := predicates.NewProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		registry, quiet, now := prometheus.NewRegistry(), slog.New(slog.DiscardHandler), clock.RealClock{}
		w := &World{
			T: t, Registry: registry, History: runtimes.NewHistory(registry),
			Cluster: cluster.New(cluster.Options{Logger: quiet, Registerer: registry, AssumeTTL: 30 * time.Second, Live: true}),
			running: map[string]*running{}, held: map[string]bool{}, tried: map[string]attempt{},
		}
		w.store = predicates.NewVerdictStore(profile, w.Cluster, 1<<30, predicates.NewStoreMetrics(registry), now)
		profiles := predicates.NewProfiles(w.store)
		w.keeper = reservation.New(reservation.Options{Logger: quiet, Clock: now, Cluster: w.Cluster, Profiles: profiles})
		limits := gang.DefaultLimits(30*time.Second, 5*time.Second, 30*time.Second)
		limits.Tick, limits.Retry = time.Second, time.Second // as fine as the time here
		writer := nomination.NewWriter(quiet, registry, now, nomination.DefaultWriteLimits(500))
		w.gangs = gang.New(gang.Options{
			Logger: quiet, Registerer: registry, Clock: now, Cluster: w.Cluster, Client: w, Writer: writer, Recorder: w,
			Epoch: func() record.Epoch { return record.Epoch{} }, Profiles: profiles, Reservations: w.keeper,
			Limits: limits,
		})
		w.Booker = backfill.New(backfill.Options{
			Logger: quiet, Registerer: registry, Clock: now, Cluster: w.Cluster, Gangs: w.gangs.Observer, Room: w.keeper,
			History: w.History, After: after,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, part := range []func(context.Context){w.gangs.Run, writer.Run, w.Booker.Run} {
			running.Go(func() { part(ctx) })
		}
		synctest.Wait()
		test(w)
		cancel()
		running.Wait()
		for _, pod := range w.Cluster.Pending() {
			w.Cluster.Release(pod.UID)
		}
	})
}

// Set has the watch show objects.
func (w *World) Set(objects ...runtime.Object) {
	w.Helper()
	for _, object := range objects {
		if err := w.Cluster.Set(object); err != nil {
			w.Fatal(err)
		}
	}
}

// Nodes adds nodes with a number of CPUs, and one of other resources each.
func (w *World) Nodes(count, cpus int, others ...corev1.ResourceName) {
	w.Helper()
	for i := range count {
		all := corev1.ResourceList{
			"cpu": resource.MustParse(fmt.Sprint(cpus)), "memory": resource.MustParse("100Gi"), "pods": resource.MustParse("110"),
		}
		for _, other := range others {
			all[other] = resource.MustParse("1")
		}
		w.Set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%03d", i), UID: types.UID(fmt.Sprint("node-", i))},
			Status:     corev1.NodeStatus{Allocatable: all, Capacity: all},
		})
	}
}

// Queue has pods wait for a node.
func (w *World) Queue(pods ...*corev1.Pod) {
	w.Helper()
	for _, p := range pods {
		w.Set(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, pods...)
}

// Waiting returns the pods without a node, in the order of the queue.
func (w *World) Waiting() []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

// Running returns the names of the pods that have a node and have not ended, in their order.
func (w *World) Running() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.running))
}

// bind puts a pod on a node, as the API server does.
func (w *World) bind(p *corev1.Pod, node string, runs time.Duration) {
	on, now := p.DeepCopy(), time.Now()
	on.Spec.NodeName = node
	on.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(skew)),
	}}
	w.mu.Lock()
	w.running[p.Name] = &running{on, now, now.Add(runs)}
	w.waiting = slices.DeleteFunc(w.waiting, func(other *corev1.Pod) bool { return other.Name == p.Name })
	delete(w.tried, p.Name)
	if w.Started != nil {
		w.Started(p.Name)
	}
	w.mu.Unlock()
	w.Set(on)
}

// Pass lets seconds pass, each as a Step before which others come.
func (w *World) Pass(seconds int, come func(second int), runs func(*corev1.Pod) time.Duration) {
	w.Helper()
	for second := range seconds {
		w.Step(time.Second, func() { come(second) }, runs)
	}
}

// Step lets a time pass. Then pods end, others come, and the scheduler tries in their order all that wait, as far as anything has changed
// for them. Each runs for as long as runs says, which is asked once it has a node.
func (w *World) Step(long time.Duration, come func(), runs func(*corev1.Pod) time.Duration) {
	w.Helper()
	<-time.After(long)
	synctest.Wait()
	w.end(time.Now())
	come()
	for _, p := range w.Waiting() {
		if w.isDue(p) {
			w.schedule(p, runs)
		}
	}
	synctest.Wait()
}

// NextEnd returns when the next pod ends, and false if none runs.
func (w *World) NextEnd() (next time.Time, runs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.running {
		if !runs || r.to.Before(next) {
			next, runs = r.to, true
		}
	}
	return next, runs
}

// Metrics returns the metrics of a name.
func (w *World) Metrics(name string) []*dto.Metric {
	w.Helper()
	families, err := w.Registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()
		}
	}
	return nil
}

// Forecasts returns how many gangs have started that had a booking, and how many of them by the time that was forecast of nine in ten.
func (w *World) Forecasts() (all, kept int) {
	w.Helper()
	histogram := w.Metrics("muster_forecast_ratio")[0].GetHistogram()
	for _, bucket := range histogram.GetBucket() {
		if bucket.GetUpperBound() == 1 {
			return int(histogram.GetSampleCount()), int(bucket.GetCumulativeCount()) //nolint:gosec // of gangs
		}
	}
	w.Fatal("there is no bucket up to 1")
	return 0, 0
}

// end has pods end whose time has come.
func (w *World) end(now time.Time) {
	w.Helper()
	var ended []*running
	w.mu.Lock()
	for name, r := range w.running {
		if !now.Before(r.to) {
			ended = append(ended, r)
			delete(w.running, name)
		}
	}
	w.mu.Unlock()
	slices.SortFunc(ended, func(a, b *running) int { return cmp.Compare(a.pod.Name, b.pod.Name) })
	for _, r := range ended {
		if err := w.Cluster.Delete(r.pod); err != nil {
			w.Fatal(err)
		}
		if w.Learns {
			w.History.Learn(Succeeded(r.pod, r.to.Sub(r.from)), false)
		}
	}
	w.Ended += len(ended)
}

// isDue reports whether a pod is to be tried, and notes that it is.
func (w *World) isDue(p *corev1.Pod) bool {
	snap := w.Cluster.Snapshot()
	this := attempt{time.Now(), snap.Generation, snap.Freed}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, tried := w.tried[p.Name]
	if w.held[p.Name] || tried && this.generation == last.generation && this.freed == last.freed && this.at.Sub(last.at) < patience {
		return false
	}
	w.tried[p.Name] = this
	return true
}

// schedule is an attempt to schedule a pod.
func (w *World) schedule(p *corev1.Pod, runs func(*corev1.Pod) time.Duration) {
	w.Helper()
	known := w.Cluster.PendingPod(p.UID)
	if known == nil {
		return
	}
	decision := w.gangs.Verbs.Filter(known, w.Cluster.Snapshot().NodeCount())
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			w.Cluster.Release(p.UID)
		}
	case decision.Member:
		if err := w.Cluster.AssumeAll([]*cluster.Pod{known}, w.Cluster.Snapshot().NodeByName(decision.Node)); err != nil {
			return // the node has changed since: kube-scheduler would hear of that, and try again
		}
		w.gangs.Verbs.Placed(p.UID, decision.Node)
		w.hold(p.Name, true)
		go func() {
			err := w.gangs.Verbs.Permit(context.Background(), p.UID, decision.Node)
			if err == nil {
				w.bind(p, decision.Node, runs(p))
			}
			w.hold(p.Name, false)
			w.gangs.Verbs.Bound(p.UID, err)
		}()
	default:
		snap := w.Cluster.Snapshot()
		judge := scenario.New(snap).Judge(w.store.Profile.JudgeFit(known, snap))
		left := w.keeper.Claim(known, w.store.Profile).Left
		for node := range snap.Nodes() {
			if !left.Has(node.Name) && judge.Fits(node.Index) {
				w.bind(p, node.Name, runs(p))
				return
			}
		}
	}
}

func (w *World) hold(pod string, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[pod] = held; !held {
		delete(w.held, pod)
		delete(w.tried, pod)
	}
}

// Nominate implements [gang.Client]: nothing comes of it here, nor of what else gangs write, except that a pod is tried again.
func (w *World) Nominate(context.Context, *corev1.Pod, string) error { return nil }

// LiftGate implements [gang.Client].
func (w *World) LiftGate(context.Context, *corev1.Pod, string) error { return nil }

// Wake implements [gang.Client].
func (w *World) Wake(_ context.Context, p *corev1.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tried, p.Name)
	return nil
}

// Evict implements [gang.Client].
func (w *World) Evict(context.Context, *corev1.Pod, string) error { return nil }

// Write implements [gang.Recorder].
func (w *World) Write(context.Context, *unstructured.Unstructured, record.Record) error { return nil }
