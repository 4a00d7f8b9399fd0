package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/backfill"
)

// Options of a World.
type Options struct {
	// Config is a valid configuration: its profiles, and how gangs start.
	Config *config.Configuration
	// FirstFit has pods of no gang go to the first node with room, instead of the best one by the scores of their profile.
	FirstFit bool
	// Learns has pods that have ended be learned from.
	Learns bool
	// Tell is told what people would be of room in time. It may be nil.
	Tell func(map[membership.Key]status.Booking)
}

// World is a cluster whose pods end in time, with the parts of muster that give room in time, and a scheduler that calls them. It lives in
// virtual time, and is used by one goroutine there. It keeps the first error, and does nothing more then.
type World struct {
	Cluster  *cluster.Cluster
	Booker   *backfill.Booker
	Registry *prometheus.Registry
	History  *runtimes.History
	// Ended is how many pods have ended. Started is told of each pod that is bound, one at a time, and Left of each that has ended.
	Ended   int
	Started func(pod *corev1.Pod)
	Left    func(pod *corev1.Pod)
	// Stopped is asked before each pod that is tried: once it says so, no more are.
	Stopped func() bool

	options  Options
	began    time.Time
	profiles *predicates.Profiles
	rated    *predicates.Profiles // with the scores that are kube-scheduler's
	keeper   *reservation.Keeper
	gangs    *gang.Manager
	random   *rand.Rand
	stop     func()

	mu      sync.Mutex
	err     error
	came    int
	waiting []*queued // without a node, in the order of the queue
	of      map[types.UID]*queued
	running map[types.UID]*running
}

// running is a pod that has a node.
type running struct {
	pod      *corev1.Pod
	from, to time.Time
}

// New returns a World without nodes, whose parts run until it is closed. It must be called in virtual time.
func New(o Options) (*World, error) {
	registry, quiet, now := prometheus.NewRegistry(), slog.New(slog.DiscardHandler), clock.RealClock{}
	w := &World{
		Registry: registry, History: runtimes.NewHistory(registry), options: o, random: rand.New(rand.NewPCG(1, 1)), began: time.Now(),
		Cluster: cluster.New(cluster.Options{Logger: quiet, Registerer: registry, AssumeTTL: assumeTTL, Live: true}),
		of:      map[types.UID]*queued{}, running: map[types.UID]*running{},
		Started: func(*corev1.Pod) {}, Left: func(*corev1.Pod) {}, Stopped: func() bool { return false },
	}
	if err := w.profile(); err != nil {
		return nil, err
	}
	w.keeper = reservation.New(reservation.Options{Logger: quiet, Clock: now, Cluster: w.Cluster, Profiles: w.profiles})
	limits := gang.LimitsOf(o.Config)
	limits.Tick, limits.Retry, limits.Gather = time.Second, time.Second, time.Millisecond // as fine as the time here
	limits.EvictNobody = true
	writer := nomination.NewWriter(quiet, registry, now, nomination.DefaultWriteLimits(500))
	w.gangs = gang.New(gang.Options{
		Logger: quiet, Registerer: registry, Clock: late{by: gangsAfter}, Cluster: w.Cluster,
		Client: client{w}, Writer: writer, Recorder: client{w},
		Epoch: func() record.Epoch { return record.Epoch{} }, Profiles: w.profiles, Reservations: w.keeper,
		Limits: limits, Seed: 1,
	})
	w.Booker = backfill.New(backfill.Options{
		Logger: quiet, Registerer: registry, Clock: late{by: bookerAfter}, Cluster: w.Cluster, Gangs: w.gangs.Observer, Room: w.keeper,
		History: w.History, After: o.Config.Gangs.ReserveAfter.Duration, Profiles: w.profiles,
		MaxIdle: float64(o.Config.Gangs.ReserveMaxIdlePercent) / 100, Tell: o.Tell,
	})
	w.run(writer)
	return w, nil
}

// profile makes the profiles that are in force, and the same ones with the scores that they leave to kube-scheduler.
func (w *World) profile() error {
	for _, all := range []**predicates.Profiles{&w.profiles, &w.rated} {
		registry, rates := w.Registry, all == &w.rated
		if rates {
			registry = prometheus.NewRegistry() // the metrics are the same
		}
		made, err := app.NewProfiles(app.ProfileOptions{
			Registerer: registry, Cluster: w.Cluster, Config: w.options.Config, SchedulerScores: rates,
			Load: loadaware.Options{Logger: slog.New(slog.DiscardHandler), Metrics: loadaware.NewMetrics(registry)},
		})
		if err != nil {
			return err
		}
		*all = made.InForce()
	}
	return nil
}

func (w *World) run(writer *nomination.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, part := range []func(context.Context){w.gangs.Run, writer.Run, w.Booker.Run} {
		running.Go(func() { part(ctx) })
	}
	w.stop = func() {
		cancel()
		running.Wait()
	}
	w.wait(grid)
}

// Close stops the parts.
func (w *World) Close() {
	w.stop()
	for _, pod := range w.Cluster.Pending() {
		w.Cluster.Release(pod.UID)
	}
	w.wait(grid) // until the last held calls have gone, and what was being bound is: time ends with the caller
}

// Err returns the first error.
func (w *World) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *World) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// Set has the watch show objects.
func (w *World) Set(objects ...runtime.Object) {
	for _, object := range objects {
		if err := w.Cluster.Set(object); err != nil {
			w.fail(err)
		}
	}
}

// Nodes adds nodes with a number of CPUs, and one of other resources each.
func (w *World) Nodes(count, cpus int, others ...corev1.ResourceName) {
	for i := range count {
		all := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(fmt.Sprint(cpus)), corev1.ResourceMemory: resource.MustParse("100Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
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

// Running returns the names of the pods that have a node and have not ended, in their order.
func (w *World) Running() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.running {
		names = append(names, r.pod.Name)
	}
	slices.Sort(names)
	return names
}

// NextEnd returns when the next pod ends, and false if none runs. It is for who lets time pass.
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

// Pass lets seconds pass, each as a Step before which others come.
func (w *World) Pass(seconds int, come func(second int), runs func(*corev1.Pod) time.Duration) {
	for second := range seconds {
		w.Step(time.Second, func() { come(second) }, runs)
	}
}

// Step lets a time pass. Then pods end, others come, and the scheduler tries in their order all that wait, as far as anything has changed
// for them. Each runs for as long as runs says, which is asked once it has a node, and told to nobody.
func (w *World) Step(long time.Duration, come func(), runs func(*corev1.Pod) time.Duration) {
	if w.Err() != nil {
		return
	}
	w.wait(long)
	w.end(time.Now())
	come()
	for _, q := range w.queue() {
		if w.Stopped() {
			break
		}
		if w.isDue(q) {
			w.schedule(q, runs)
		}
	}
	synctest.Wait()
}

// bind puts a pod on a node, as the API server does.
func (w *World) bind(p *corev1.Pod, node string, runs time.Duration) {
	on, now := p.DeepCopy(), time.Now()
	on.Spec.NodeName = node
	on.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(skew)),
	}}
	w.mu.Lock()
	w.running[p.UID] = &running{on, now, now.Add(runs)}
	w.leave(p.UID)
	w.Started(on)
	w.mu.Unlock()
	w.Set(on)
}

// end has pods end whose time has come.
func (w *World) end(now time.Time) {
	var ended []*running
	w.mu.Lock()
	for uid, r := range w.running {
		if !now.Before(r.to) {
			ended = append(ended, r)
			delete(w.running, uid)
		}
	}
	w.mu.Unlock()
	slices.SortFunc(ended, func(a, b *running) int {
		return cmp.Or(cmp.Compare(a.pod.Name, b.pod.Name), cmp.Compare(a.pod.Namespace, b.pod.Namespace))
	})
	for _, r := range ended {
		if err := w.Cluster.Delete(r.pod); err != nil {
			w.fail(err)
		}
		if w.options.Learns {
			w.History.Learn(Succeeded(r.pod, r.to.Sub(r.from)), false)
		}
		w.Left(r.pod)
	}
	w.Ended += len(ended)
}

// Metrics returns the metrics of a name.
func (w *World) Metrics(name string) []*dto.Metric {
	families, err := w.Registry.Gather()
	if err != nil {
		w.fail(err)
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
	for _, metric := range w.Metrics("muster_forecast_ratio") {
		histogram := metric.GetHistogram()
		for _, bucket := range histogram.GetBucket() {
			if bucket.GetUpperBound() == 1 {
				return int(histogram.GetSampleCount()), int(bucket.GetCumulativeCount()) //nolint:gosec // of gangs
			}
		}
	}
	w.fail(errors.New("there is no metric of forecasts with a bucket up to 1"))
	return 0, 0
}

// Idle returns for how long room for pods stood empty as it was booked, over all such pods.
func (w *World) Idle() (idle time.Duration) {
	for _, metric := range w.Metrics("muster_booked_idle_pod_seconds_total") {
		idle += time.Duration(metric.GetCounter().GetValue() * float64(time.Second))
	}
	return idle
}
