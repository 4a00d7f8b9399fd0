package gang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// process is a Manager that runs in a bubble, on a cluster of the test's own. It stands for
// the API server as well: the watch shows at once what is written.
type process struct {
	*testing.T
	*Manager
	cluster  *cluster.Cluster
	registry *prometheus.Registry
	stop     context.CancelFunc // has Run end

	mu      sync.Mutex
	version int
	writes  []string
	records []record.Record
	// trouble replaces the write of a record.
	trouble func(ctx context.Context) error
	refusal error         // of writes that lift gates, wake or evict
	deaf    string        // the pod whose next nomination fails
	slow    time.Duration // that it takes to lift a gate
	blocked types.UID     // a pod whose room kube-scheduler does not know of
}

// run lets a Manager run in a test, and stops it at its end.
func run(t *testing.T, test func(p *process)) {
	t.Helper()
	runAt(t, clock.RealClock{}, test)
}

// runAt is run with another clock for the placing of pods.
func runAt(t *testing.T, placing clock.PassiveClock, test func(p *process)) {
	t.Helper()
	runBy(t, placing, config.GatesNever, test)
}

// runGated is run for a profile whose pods are gated for so long.
func runGated(t *testing.T, gates config.Gates, test func(p *process)) {
	t.Helper()
	runBy(t, clock.RealClock{}, gates, test)
}

// runBy is runGated with another clock for the placing of pods.
func runBy(t *testing.T, placing clock.PassiveClock, gates config.Gates, test func(p *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default()
		cfg.Profiles[0].Equivalence, cfg.Profiles[0].Gates = config.EquivalenceTemplate, gates
		profile, err := predicates.NewProfile(&cfg.Profiles[0])
		if err != nil {
			t.Fatal(err)
		}
		registry, log, now := prometheus.NewRegistry(), slog.New(slog.DiscardHandler), clock.RealClock{}
		c := cluster.New(cluster.Options{
			Logger: log, Registerer: registry, AssumeTTL: 30 * time.Second, Affiliator: kinds.Set(cfg.Gangs.Kinds), Live: true,
		})
		p := &process{T: t, cluster: c, registry: registry}
		limits := DefaultLimits(30*time.Second, 5*time.Second, 30*time.Second)
		limits.Few = 0
		writer := nomination.NewWriter(log, registry, now, nomination.DefaultWriteLimits(500))
		p.Manager = New(Options{
			Logger: log, Registerer: registry, Clock: now, Cluster: c, Client: p, Writer: writer,
			Recorder: p, Epoch: func() record.Epoch { return record.Epoch{} },
			Profiles:     predicates.NewProfiles(predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(registry), placing)),
			Reservations: noPlans{},
			Blocked:      func(pod types.UID) bool { p.mu.Lock(); defer p.mu.Unlock(); return p.blocked == pod },
			Limits:       limits,
		})
		ctx, cancel := context.WithCancel(t.Context())
		p.stop = cancel
		var running sync.WaitGroup
		running.Go(func() { p.Manager.Run(ctx) })
		running.Go(func() { writer.Run(ctx) })
		synctest.Wait()
		test(p)
		cancel()
		running.Wait()
		for _, pod := range c.Pending() {
			c.Release(pod.UID)
		}
	})
}

// noPlans implements Reservations: no plan of the rescheduler keeps room.
type noPlans struct{}

func (noPlans) Reserved([]*cluster.Pod) sets.Set[types.UID] { return nil }
func (noPlans) Refresh()                                    {}
func (noPlans) Spared(...*cluster.Pod) sets.Set[types.UID]  { return nil }
func (noPlans) Left([]*cluster.Pod) sets.Set[string]        { return nil }
func (noPlans) LeftByPlans([]*cluster.Pod) sets.Set[string] { return nil }

// Nominate implements Client.
func (p *process) Nominate(_ context.Context, pod *corev1.Pod, node string) error {
	next := pod.DeepCopy()
	next.Status.NominatedNodeName = node
	next.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: cluster.FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
	}}
	p.mu.Lock()
	p.writes = append(p.writes, strings.TrimSpace("nominate "+pod.Name+" "+node))
	fails := p.deaf == pod.Name
	if fails {
		p.deaf = ""
	}
	p.mu.Unlock()
	if fails {
		return errors.New("the API server is away")
	}
	p.set(next)
	return nil
}

// Write implements Recorder.
func (p *process) Write(ctx context.Context, group *unstructured.Unstructured, r record.Record) error {
	p.mu.Lock()
	trouble := p.trouble
	p.mu.Unlock()
	if trouble != nil {
		if err := trouble(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.records = append(p.records, r)
	p.mu.Unlock()
	p.set(recorded(group, r))
	return nil
}

// recorded is a PodGroup with a record.
func recorded(group *unstructured.Unstructured, r record.Record) *unstructured.Unstructured {
	next := group.DeepCopy()
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	annotations := next.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[record.Annotation] = string(text)
	next.SetAnnotations(annotations)
	return next
}

// Wake implements Client.
func (p *process) Wake(_ context.Context, pod *corev1.Pod) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, "wake "+pod.Name)
	return p.refusal
}

// Evict implements Client. The pod has a long grace period.
func (p *process) Evict(_ context.Context, pod *corev1.Pod, preemptor string) error {
	p.mu.Lock()
	p.writes = append(p.writes, "evict "+pod.Name+" for "+preemptor)
	refusal := p.refusal
	p.mu.Unlock()
	if refusal == nil {
		p.set(leaving(pod))
	}
	return refusal
}

// LiftGate implements Client.
func (p *process) LiftGate(_ context.Context, pod *corev1.Pod, gate string) error {
	p.mu.Lock()
	p.writes = append(p.writes, "lift "+pod.Name)
	refusal, slow := p.refusal, p.slow
	p.mu.Unlock()
	<-time.After(slow)
	if refusal != nil {
		return refusal
	}
	next := pod.DeepCopy()
	next.Spec.SchedulingGates = slices.DeleteFunc(next.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == gate })
	p.set(next)
	return nil
}

// refuse has writes that lift gates, wake or evict fail from now on, nil for not any more.
func (p *process) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusal = err
}

// written returns what was written since the last call, in the order of the words.
func (p *process) written() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.writes
	p.writes = nil
	slices.Sort(writes)
	return writes
}

// set has the watch show objects.
func (p *process) set(objects ...runtime.Object) {
	p.Helper()
	for _, object := range objects {
		if custom, ok := object.(*unstructured.Unstructured); ok {
			p.cluster.SetCustom(v1alpha1.ResourceOf(custom.GroupVersionKind().Group), custom)
			continue
		}
		object = object.DeepCopyObject()
		if pod, ok := object.(*corev1.Pod); ok {
			p.mu.Lock()
			p.version++
			pod.ResourceVersion = fmt.Sprint(p.version)
			p.mu.Unlock()
		}
		if err := p.cluster.Set(object); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *process) delete(pods ...*corev1.Pod) {
	p.Helper()
	for _, pod := range pods {
		if err := p.cluster.Delete(pod); err != nil {
			p.Fatal(err)
		}
	}
}

// after lets time pass, and everything happen that is due.
func (p *process) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// filter is a call of the scheduler about a pod and all nodes: the node that it is told,
// else the reason for none.
func (p *process) filter(pod *corev1.Pod) string {
	p.Helper()
	known := p.cluster.PendingPod(pod.UID)
	if known == nil {
		p.Fatalf("%s does not wait", pod.Name)
	}
	decision := p.Verbs.Filter(known, 5)
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			p.cluster.Release(pod.UID)
		}
		return decision.Reason
	case !decision.Member:
		p.cluster.Release(pod.UID)
		return "any"
	}
	p.assume(known, decision.Node)
	p.Verbs.Placed(pod.UID, decision.Node)
	return decision.Node
}

// call is a bind call that may be held.
type call struct {
	p      *process
	pod    *corev1.Pod
	node   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once it is done
}

// count has a pod count on a node, unless it counts on one, as it does before Permit is asked.
func (p *process) count(pod *corev1.Pod, node string) {
	p.Helper()
	known, on := p.cluster.PendingPod(pod.UID), p.cluster.Snapshot().NodeByName(node)
	if known == nil || on == nil || p.cluster.Assumed(pod.UID) != "" {
		return
	}
	p.assume(known, node)
}

// assume has a pod count on a node, whose state may change meanwhile.
func (p *process) assume(pod *cluster.Pod, node string) {
	p.Helper()
	for {
		err := p.cluster.AssumeAll([]*cluster.Pod{pod}, p.cluster.Snapshot().NodeByName(node))
		if errors.Is(err, cluster.ErrNodeChanged) {
			continue
		}
		if err != nil {
			p.Fatal(err)
		}
		return
	}
}

// bind is a call of the scheduler. When it is let go, the API server binds the pod.
func (p *process) bind(pod *corev1.Pod, node string) *call {
	p.Helper()
	p.count(pod, node)
	ctx, cancel := context.WithCancel(p.Context())
	c := &call{p: p, pod: pod, node: node, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer cancel()
		if c.err = p.Verbs.Permit(ctx, pod.UID, node); c.err == nil {
			bound := pod.DeepCopy()
			bound.Spec.NodeName = node
			p.set(bound)
			p.Verbs.Bound(pod.UID, nil)
		}
		close(c.done)
	}()
	synctest.Wait()
	return c
}

// held says that the call waits still.
func (c *call) held() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// start has the scheduler filter and bind pods, one after the other, and returns the calls.
func (p *process) start(pods ...*corev1.Pod) []*call {
	p.Helper()
	var calls []*call
	for _, pod := range pods {
		node := p.filter(pod)
		if p.cluster.Snapshot().NodeByName(node) == nil {
			p.Fatalf("%s is refused: %s", pod.Name, node)
		}
		calls = append(calls, p.bind(pod, node))
	}
	return calls
}

func node(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
}

// members are pods of a group that ask for so much CPU each.
func members(group string, count int, cpu string, change ...func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range count {
		name := fmt.Sprintf("%s-%d", group, i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.Now(),
				Labels: map[string]string{v1alpha1.LabelX: group},
			},
			Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
				Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}}},
		}
		for _, f := range change {
			f(pod)
		}
		pods = append(pods, pod)
	}
	return pods
}

// withoutObject makes a pod a member of a group that only its members tell of.
func withoutObject(group, minMember string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{v1alpha1.LabelMuster: group}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: minMember}
	}
}

func objects(pods []*corev1.Pod) []runtime.Object {
	var all []runtime.Object
	for _, pod := range pods {
		all = append(all, pod)
	}
	return all
}

// gated is a pod as the webhook and the API server leave it.
func gated(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.SchedulingGate})
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated},
	}
}

func tried(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
}

func podGroup(name string, minMember int64, change ...func(spec map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{"minMember": minMember}
	for _, f := range change {
		f(spec)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     spec,
	}}
}

// why is why a group waits, in words.
func (p *process) why(group string) string {
	p.Helper()
	about := p.Observer.About(types.NamespacedName{Namespace: "default", Name: group})
	if len(about) != 1 {
		p.Fatalf("%d groups of the name %s", len(about), group)
	}
	return about[0].Why
}
