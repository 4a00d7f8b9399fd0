package requeue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// ttl is the time to live of assumptions.
const ttl = 30 * time.Second

// fataler is a test or a property test.
type fataler interface {
	Fatal(...any)
	Helper()
}

// process is a Requeuer that runs in a bubble, on a cluster of the test's own.
type process struct {
	fataler
	*Requeuer
	cluster *cluster.Cluster
	stop    func()

	mu        sync.Mutex
	elsewhere sets.Set[types.UID] // pods that somebody else sees to
	writes    []string
	refusal   error                                 // of writes
	heard     func(pod *corev1.Pod, everybody bool) // told of writes
}

func run(t *testing.T, test func(p *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		p.start()
		defer func() { p.stop() }()
		test(p)
	})
}

func newProcess(t fataler) *process {
	registry, log, now := prometheus.NewRegistry(), slog.New(slog.DiscardHandler), clock.RealClock{}
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: ttl})
	p := &process{fataler: t, cluster: c, elsewhere: sets.New[types.UID](), heard: func(*corev1.Pod, bool) {}}
	p.Requeuer = New(Options{
		Registerer: registry, Clock: now, Cluster: c, Client: p,
		Profiles: predicates.NewProfiles(newStore(t, c, now)),
		Alone:    func(pod *cluster.Pod) bool { p.mu.Lock(); defer p.mu.Unlock(); return !p.elsewhere.Has(pod.UID) },
		Writer:   nomination.NewWriter(log, registry, now, nomination.DefaultWriteLimits(500)),
	})
	return p
}

func newStore(t fataler, c *cluster.Cluster, now clock.PassiveClock) *predicates.VerdictStore {
	cfg := config.Default()
	cfg.Profiles[0].Equivalence = config.EquivalenceTemplate
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	return predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(prometheus.NewRegistry()), now)
}

// slow is a clock by which some time goes by whenever it is looked at.
type slow struct {
	clock.RealClock

	each time.Duration
	seen atomic.Int64
}

func (s *slow) Now() time.Time { return s.RealClock.Now().Add(time.Duration(s.seen.Add(1)) * s.each) }

// start runs the Requeuer until stop is called.
func (p *process) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	running.Go(func() { p.writer.Run(ctx) })
	synctest.Wait()
	p.stop = func() {
		cancel()
		running.Wait()
	}
}

// Wake implements Client.
func (p *process) Wake(_ context.Context, pod *corev1.Pod) error {
	return p.write("wake "+pod.Name, pod, false)
}

// WakeAll implements Client.
func (p *process) WakeAll(_ context.Context, pod *corev1.Pod, node string) error {
	return p.write("wake all by "+pod.Name+" on "+node, pod, true)
}

func (p *process) write(what string, pod *corev1.Pod, everybody bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, what)
	if p.refusal == nil {
		p.heard(pod, everybody)
	}
	return p.refusal
}

// refuse has writes fail from now on, or not.
func (p *process) refuse(fail bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal = nil; fail {
		p.refusal = errors.New("the API server is away")
	}
}

// seeTo says whether somebody else sees to a pod.
func (p *process) seeTo(pod *corev1.Pod, elsewhere bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.elsewhere.Delete(pod.UID); elsewhere {
		p.elsewhere.Insert(pod.UID)
	}
}

// after lets time pass and returns what was written meanwhile, in the order of the words.
func (p *process) after(d time.Duration) []string {
	p.mu.Lock()
	p.writes = nil
	p.mu.Unlock()
	<-time.After(d)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.writes
	slices.Sort(writes)
	return writes
}

// set has the watch show objects.
func (p *process) set(objects ...runtime.Object) {
	p.Helper()
	for _, object := range objects {
		if err := p.cluster.Set(object.DeepCopyObject()); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *process) remove(objects ...runtime.Object) {
	p.Helper()
	for _, object := range objects {
		if err := p.cluster.Delete(object); err != nil {
			p.Fatal(err)
		}
	}
}

// keep has muster keep the room for a pod that waits.
func (p *process) keep(pod *corev1.Pod, node string) {
	p.Helper()
	if err := p.cluster.AssumeAll([]*cluster.Pod{p.cluster.PendingPod(pod.UID)}, p.cluster.Snapshot().NodeByName(node)); err != nil {
		p.Fatal(err)
	}
}

func newNode(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("500"),
		}},
	}
}

func newPod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

// unschedulable says that kube-scheduler has refused a pod.
func unschedulable(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
}

func on(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }

func ofPriority(value int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &value }
}

// several are pods that were refused.
func several(count int, cpu string) (pods []runtime.Object) {
	for i := range count {
		pods = append(pods, newPod(fmt.Sprintf("p%03d", i), cpu, unschedulable))
	}
	return pods
}
