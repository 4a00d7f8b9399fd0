package nomination

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// fataler is a test or a property test.
type fataler interface{ Fatal(...any) }

// ttl is the time to live of assumptions.
const ttl = time.Minute

// bench is a Nominator over a cluster of the test's own.
type bench struct {
	*Nominator
	cluster *cluster.Cluster
	metrics *prometheus.Registry
	bounds  bounds
}

// clients is all that is written.
type clients interface {
	Client
	Gates
}

// bounds are all limits of a bench, and its way to place pods.
type bounds struct {
	Limits
	WriteLimits
	selection config.NodeSelection
	offload   bool
	gates     config.Gates
}

func newBench(t fataler, limits bounds, now clock.WithTicker, client clients) *bench {
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: ttl})
	store := newStore(t, c, limits, predicates.NewStoreMetrics(registry), now)
	return &bench{cluster: c, metrics: registry, bounds: limits, Nominator: New(Options{
		Registerer: registry,
		Clock:      now,
		Cluster:    c,
		Profiles:   predicates.NewProfiles(store),
		Client:     client,
		Gates:      client,
		Skip:       func(pod *cluster.Pod) bool { return pod.Name == "skip" || pod.Labels["skip"] != "" },
		Limits:     limits.Limits,
		Writer:     NewWriter(log, registry, now, limits.WriteLimits),
	})}
}

// newStore is of the default profile with a way to choose nodes.
func newStore(
	t fataler, c *cluster.Cluster, limits bounds, m *predicates.StoreMetrics, now clock.PassiveClock,
) *predicates.VerdictStore {
	cfg := config.Default()
	cfg.Profiles[0].NodeSelection, cfg.Profiles[0].Gates, cfg.Profiles[0].Offload = limits.selection, limits.gates, limits.offload
	cfg.Profiles[0].Equivalence = config.EquivalenceTemplate
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	return predicates.NewVerdictStore(profile, c, 1<<30, m, now)
}

// testLimits nominate every pod at once.
func testLimits() bounds {
	limits := bounds{
		Limits: DefaultLimits(ttl), WriteLimits: DefaultWriteLimits(500), selection: config.NodeSelectionMuster,
		gates: config.GatesNever,
	}
	limits.MinBacklog, limits.MinSaving = 1, 0
	return limits
}

func set(t fataler, c *cluster.Cluster, objects ...runtime.Object) {
	for _, object := range objects {
		if err := c.Set(object.DeepCopyObject()); err != nil {
			t.Fatal(err)
		}
	}
}

func newNode(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
}

func newPod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), ResourceVersion: "1"},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func newPods(count int, cpu string, change ...func(*corev1.Pod)) []runtime.Object {
	var pods []runtime.Object
	for i := range count {
		pods = append(pods, newPod(fmt.Sprintf("p%03d", i), cpu, change...))
	}
	return pods
}

func nominatedTo(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.NominatedNodeName = node }
}

// bySelf says that muster wrote the nomination.
func bySelf(pod *corev1.Pod) { pod.ManagedFields = managedBy(cluster.FieldManager) }

func managedBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
	}}
}

func ofPriority(value int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &value }
}

func unschedulable(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
}

func conflict(name string) error {
	return apierrors.NewConflict(corev1.Resource("pods"), name, nil)
}

// gatedAhead has a pod wait until it is let go.
func gatedAhead(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.AheadGate})
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated},
	}
}

func without(gate string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = slices.DeleteFunc(
			slices.Clone(pod.Spec.SchedulingGates), func(g corev1.PodSchedulingGate) bool { return g.Name == gate },
		)
	}
}

func counterOf(t fataler, counter prometheus.Counter) int {
	var m dto.Metric
	if err := counter.Write(&m); err != nil {
		t.Fatal(err)
	}
	return int(m.GetCounter().GetValue())
}
