package backfill

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// skew is by how much the clock of the API server is ahead of this process.
const skew = time.Hour

// world is a cluster whose pods end in time, with a scheduler that calls muster, in a bubble.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
	keeper  *reservation.Keeper
	gangs   *gang.Manager
	history *runtimes.History
	booker  *Booker
	log     *logged

	mu      sync.Mutex
	waiting []*corev1.Pod        // in the order of the queue, without a node
	ends    map[string]time.Time // of pods with a node
	bound   map[string]string    // where pods are
	held    map[string]bool      // pods whose bind call is held
	left    int                  // pods that have ended
	count   int                  // small pods so far
}

// logged keeps the messages of a log.
type logged struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, r.Message)
	return nil
}

// run runs a test for a Booker that books room after a time, 0 for ever.
func run(t *testing.T, after time.Duration, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		profile, err := predicates.NewProfile(&config.Default().Profiles[0])
		if err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, ends: map[string]time.Time{}, bound: map[string]string{}, held: map[string]bool{}, log: &logged{}}
		registry, quiet, now := prometheus.NewRegistry(), slog.New(slog.DiscardHandler), clock.RealClock{}
		w.cluster = cluster.New(cluster.Options{Logger: quiet, Registerer: registry, AssumeTTL: 30 * time.Second, Live: true})
		w.store = predicates.NewVerdictStore(profile, w.cluster, 1<<30, predicates.NewStoreMetrics(registry), now)
		profiles := predicates.NewProfiles(w.store)
		w.keeper = reservation.New(reservation.Options{Logger: quiet, Clock: now, Cluster: w.cluster, Profiles: profiles})
		writer := nomination.NewWriter(quiet, registry, now, nomination.DefaultWriteLimits(500))
		w.gangs = gang.New(gang.Options{
			Logger: quiet, Registerer: registry, Clock: now, Cluster: w.cluster, Client: w, Writer: writer, Recorder: w,
			Epoch: func() record.Epoch { return record.Epoch{} }, Profiles: profiles, Reservations: w.keeper,
			Limits: gang.DefaultLimits(30*time.Second, 5*time.Second, 30*time.Second),
		})
		w.history = runtimes.NewHistory(registry)
		w.booker = New(Options{
			Logger: slog.New(w.log), Registerer: registry, Clock: now, Cluster: w.cluster, Gangs: w.gangs.Observer, Room: w.keeper,
			History: w.history, After: after,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, part := range []func(context.Context){w.gangs.Run, writer.Run, w.booker.Run} {
			running.Go(func() { part(ctx) })
		}
		synctest.Wait()
		test(w)
		cancel()
		running.Wait()
		for _, pod := range w.cluster.Pending() {
			w.cluster.Release(pod.UID)
		}
	})
}

func (w *world) set(objects ...runtime.Object) {
	w.Helper()
	for _, object := range objects {
		if err := w.cluster.Set(object); err != nil {
			w.Fatal(err)
		}
	}
}

// nodes adds nodes with a number of CPUs, and one of other resources each.
func (w *world) nodes(count, cpus int, others ...corev1.ResourceName) {
	w.Helper()
	for i := range count {
		all := corev1.ResourceList{
			"cpu": resource.MustParse(fmt.Sprint(cpus)), "memory": resource.MustParse("100Gi"), "pods": resource.MustParse("110"),
		}
		for _, other := range others {
			all[other] = resource.MustParse("1")
		}
		w.set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%03d", i), UID: types.UID(fmt.Sprint("node-", i))},
			Status:     corev1.NodeStatus{Allocatable: all, Capacity: all},
		})
	}
}

// pod is one of a CPU that says how long it runs, unless that is 0.
func pod(name string, says time.Duration, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Now().Add(skew)),
		},
		Spec: corev1.PodSpec{
			SchedulerName: "default-scheduler", Priority: new(int32),
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
			}}},
		},
	}
	if says > 0 {
		p.Annotations = map[string]string{v1alpha1.AnnotationExpectedRuntime: says.String()}
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// inGang makes a pod a member of a gang of a size.
func inGang(name string, size int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels = map[string]string{v1alpha1.LabelMuster: name}
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[v1alpha1.AnnotationMinMember] = fmt.Sprint(size)
	}
}

// queue has pods wait for a node.
func (w *world) queue(pods ...*corev1.Pod) {
	w.Helper()
	for _, p := range pods {
		w.set(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, pods...)
}

// bind puts a pod on a node, as the API server does.
func (w *world) bind(p *corev1.Pod, node string, runs time.Duration) {
	on := p.DeepCopy()
	on.Spec.NodeName = node
	on.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(skew)),
	}}
	w.mu.Lock()
	w.ends[p.Name], w.bound[p.Name] = time.Now().Add(runs), node
	w.waiting = slices.DeleteFunc(w.waiting, func(other *corev1.Pod) bool { return other.Name == p.Name })
	w.mu.Unlock()
	w.set(on)
}

// pass lets seconds pass. In each, pods end, others come, and the scheduler takes all that wait in their order. Each runs for as long as
// runs says.
func (w *world) pass(seconds int, come func(second int), runs func(*corev1.Pod) time.Duration) {
	w.Helper()
	for second := range seconds {
		<-time.After(time.Second)
		synctest.Wait()
		now := time.Now()
		for name, end := range w.ends {
			if !now.Before(end) {
				if err := w.cluster.Delete(pod(name, 0)); err != nil {
					w.Fatal(err)
				}
				delete(w.ends, name)
				delete(w.bound, name)
				w.left++
			}
		}
		come(second)
		w.mu.Lock()
		waiting := slices.Clone(w.waiting)
		w.mu.Unlock()
		for _, p := range waiting {
			w.schedule(p, runs(p))
		}
		synctest.Wait()
	}
}

// schedule is an attempt to schedule a pod.
func (w *world) schedule(p *corev1.Pod, runs time.Duration) {
	w.Helper()
	known := w.cluster.PendingPod(p.UID)
	w.mu.Lock()
	held := w.held[p.Name]
	w.mu.Unlock()
	if known == nil || held {
		return
	}
	decision := w.gangs.Verbs.Filter(known, w.cluster.Snapshot().NodeCount())
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			w.cluster.Release(p.UID)
		}
	case decision.Member:
		if err := w.cluster.AssumeAll([]*cluster.Pod{known}, w.cluster.Snapshot().NodeByName(decision.Node)); err != nil {
			w.Fatal(err)
		}
		w.gangs.Verbs.Placed(p.UID, decision.Node)
		w.mu.Lock()
		w.held[p.Name] = true
		w.mu.Unlock()
		go func() {
			err := w.gangs.Verbs.Permit(context.Background(), p.UID, decision.Node)
			if err == nil {
				w.bind(p, decision.Node, runs)
			}
			w.mu.Lock()
			delete(w.held, p.Name)
			w.mu.Unlock()
			w.gangs.Verbs.Bound(p.UID, err)
		}()
	default:
		snap := w.cluster.Snapshot()
		judge := scenario.New(snap).Judge(w.store.Profile.JudgeFit(known, snap))
		left := w.keeper.Claim(known, w.store.Profile).Left
		for node := range snap.Nodes() {
			if !left.Has(node.Name) && judge.Fits(node.Index) {
				w.bind(p, node.Name, runs)
				return
			}
		}
	}
}

// These implement what gangs write: nothing comes of that here.
func (w *world) Nominate(context.Context, *corev1.Pod, string) error { return nil }

func (w *world) LiftGate(context.Context, *corev1.Pod, string) error { return nil }

func (w *world) Wake(context.Context, *corev1.Pod) error { return nil }

func (w *world) Evict(context.Context, *corev1.Pod, string) error { return nil }

func (w *world) Write(context.Context, *unstructured.Unstructured, record.Record) error { return nil }
