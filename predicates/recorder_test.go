package predicates

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// recorder is a predicate that records about which nodes it is asked.
type recorder struct {
	Predicate
	record func(predicate, node string)
}

func (r recorder) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	check := r.Predicate.For(pod, snap)
	if check == nil {
		return nil
	}
	return recordedCheck{check, func(node string) { r.record(r.Name(), node) }}
}

// recordedCheck is to the store what the check itself is: what the check is not is
// answered as the store takes it then.
type recordedCheck struct {
	Check
	record func(node string)
}

func (c recordedCheck) Verdict(node *cluster.Node) Verdict {
	c.record(node.Name)
	return c.Check.Verdict(node)
}

func (c recordedCheck) Update(snap *cluster.Snapshot, nodes []int32) {
	if digest, ok := c.Check.(Digest); ok {
		digest.Update(snap, nodes)
	}
}

func (c recordedCheck) Suppose(snap *cluster.Snapshot, node *cluster.Node) {
	if digest, ok := c.Check.(Digest); ok {
		digest.Suppose(snap, node)
	}
}

func (c recordedCheck) Turned(visit func(index int32)) {
	if spanning, ok := c.Check.(Spanning); ok {
		spanning.Turned(visit)
	}
}

func (c recordedCheck) Group(node *cluster.Node) uint64 {
	if spanning, ok := c.Check.(Spanning); ok {
		return spanning.Group(node)
	}
	return 0
}

func (c recordedCheck) DependsOn(kind cluster.Aspect, name types.NamespacedName, before, after *cluster.Objects) bool {
	selective, ok := c.Check.(Selective)
	return !ok || selective.DependsOn(kind, name, before, after)
}

// invalidationBench is a cluster of two zones and a store that is asked for one class.
// Every predicate has something to say of its pods, but NodeName, since they name no node.
type invalidationBench struct {
	*testing.T
	cluster *cluster.Cluster
	store   *VerdictStore
	nodes   map[string][]string // by predicate, those about which it was asked
}

func newInvalidationBench(t *testing.T) *invalidationBench {
	t.Helper()
	profile, err := NewProfile(
		withEveryPlugin(
			profileWith(config.ServiceAffinity, &config.ServiceAffinityArgs{AffinityLabels: []string{corev1.LabelTopologyRegion}}),
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	b := &invalidationBench{T: t, nodes: map[string][]string{}}
	for i, predicate := range profile.predicates {
		profile.predicates[i] = recorder{predicate, func(name, node string) { b.nodes[name] = append(b.nodes[name], node) }}
	}
	registry := prometheus.NewRegistry()
	b.cluster = cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	b.store = NewVerdictStore(profile, b.cluster, math.MaxInt64, NewStoreMetrics(registry), clock.RealClock{})
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		b.do(set(nodeIn(name[:1], name), csiNode(name, ebsDriver, 9)))
	}
	b.do(set(dataIn("a__b"), claim("data", boundTo("data")), service("web", map[string]string{"app": "web"}), cacheOn("a1"), cacheOn("b2")))
	return b
}

// ask asks for the class and returns the predicates and nodes that the store asked about for that. Its memory
// must be true.
func (b *invalidationBench) ask() asked {
	b.Helper()
	pod := cluster.NewPod(demandingPod("asked", ""))
	view := b.store.View(pod)
	defer view.Close()
	says := map[int32]Verdict{}
	for node := range view.Snapshot.Nodes() {
		says[node.Index] = view.Verdict(node.Index)
	}
	got := asked{}
	for predicate, nodes := range b.nodes {
		slices.Sort(nodes)
		got[predicate] = strings.Join(slices.Compact(nodes), " ")
	}
	fresh := b.store.Profile.Judge(pod, view.Snapshot)
	for node := range view.Snapshot.Nodes() {
		if got, want := says[node.Index], fresh.Verdict(node); got != want {
			b.Errorf("%s: remembered %q, is %q", node.Name, view.Reason(got), view.Reason(want))
		}
	}
	clear(b.nodes)
	return got
}

// event is something that happens to the cluster.
type event func(*invalidationBench) error

func (b *invalidationBench) do(events []event) {
	b.Helper()
	for _, event := range events {
		if err := event(b); err != nil {
			b.Fatal(err)
		}
	}
}

func set(objects ...runtime.Object) []event {
	var events []event
	for _, object := range objects {
		events = append(events, func(b *invalidationBench) error {
			trimmed, err := cluster.Trim(object.DeepCopyObject())
			if err != nil {
				return err
			}
			return b.cluster.Set(trimmed.(runtime.Object))
		})
	}
	return events
}

func remove(object runtime.Object) []event {
	return []event{func(b *invalidationBench) error { return b.cluster.Delete(object) }}
}

func update(node string, change func(*corev1.Node)) []event {
	return []event{func(b *invalidationBench) error {
		object := b.cluster.Snapshot().NodeByName(node).DeepCopy()
		change(object)
		return set(object)[0](b)
	}}
}

// assume makes a pod count on the node that it names before it is bound.
func assume(pod *corev1.Pod) []event {
	return []event{func(b *invalidationBench) error {
		return b.cluster.AssumeAll([]*cluster.Pod{cluster.NewPod(pod)}, b.cluster.Snapshot().NodeByName(pod.Spec.NodeName))
	}}
}

func release(pod *corev1.Pod) []event {
	return []event{func(b *invalidationBench) error {
		b.cluster.Release(pod.UID)
		return nil
	}}
}

// nodeIn is a node in a zone, or in none, each zone being in a region of its own.
func nodeIn(zone, name string) *corev1.Node {
	n := node(called(name), labelled("disk", "ssd"), offering("cpu", "8", "pods", "110"))
	if zone != "" {
		labelled(corev1.LabelTopologyZone, zone)(n)
	}
	labelled(corev1.LabelTopologyRegion, "region-"+name[:1])(n)
	return n
}

// dataIn is the volume of the class, in one or more zones.
func dataIn(zones string) *corev1.PersistentVolume {
	return persistentVolume("data", attachedBy(ebsDriver, "data"), marked(corev1.LabelTopologyZone, zones),
		reachableFrom(label("rack", corev1.NodeSelectorOpDoesNotExist)))
}

// recreated is another object of the same name and selector.
func recreated(s *corev1.Service) *corev1.Service {
	s.UID = "another"
	return s
}

// namespaced is the namespace of the class, with a label.
func namespaced(key, value string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault, Labels: map[string]string{key: value}}}
}

func placedPod(name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := pod(change...)
	p.Name, p.UID, p.Spec.NodeName = name, types.UID(name), node
	return p
}

// cacheOn is a pod that all pods of the class must be near.
func cacheOn(node string) *corev1.Pod {
	return placedPod("cache-"+node, node, wearing("app", "cache"))
}

// demandingPod is one of the class.
func demandingPod(name, node string) *corev1.Pod {
	p := placedPod(
		name, node, asking("cpu", "1"), taking("", "", 8080), requiring(label("disk", corev1.NodeSelectorOpExists)), wearing("app", "web"),
		wearing("tier", "front"), claiming("data"), sameDisk, spreadBy(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule), avoiding("hog"),
		controlled("apps/v1", "ReplicaSet", "web"),
	)
	p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{inTheZoneOf("cache")},
	}
	return p
}

// avoiding keeps the pod out of the zones of an app.
func avoiding(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &corev1.Affinity{}
		}
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{inTheZoneOf(app)},
		}
	}
}

func inTheZoneOf(app string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		TopologyKey:   corev1.LabelTopologyZone,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}
}

func sameDisk(p *corev1.Pod) { mounting(rbd("pool", "image", false, "monitor"))(p) }

func started(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }

func reporting(kind corev1.NodeConditionType) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue})
	}
}

func heartbeat(n *corev1.Node) {
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].LastHeartbeatTime = metav1.Unix(1_700_000_000, 0)
	}
}
