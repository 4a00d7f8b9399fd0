package loadaware

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// updated is when nodes were measured, unless a test says otherwise.
var updated = time.Unix(100_000, 0)

// scene is a node and a pod that might go there.
type scene struct {
	args  string // YAML
	node  []func(*corev1.Node)
	usage func() *cluster.Usage // nil for a node that was never measured
	pods  []*corev1.Pod         // on the node
	pod   *corev1.Pod
}

// raised is a scene in a cluster.
type raised struct {
	cluster *cluster.Cluster
	load    *LoadAware
	profile *predicates.Profile
	metrics *Metrics
	node    *cluster.Node
	pod     *cluster.Pod
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// configured is a profile that runs LoadAware alone.
func configured(t fataler, args string) *config.Profile {
	t.Helper()
	document := fmt.Sprintf(`
apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- equivalence: Template
  plugins:
    filter: {enabled: [{name: LoadAware}], disabled: [{name: '*'}]}
    score: {enabled: [{name: LoadAware}], disabled: [{name: '*'}]}
  pluginConfig:
  - name: LoadAware
    args:
%s
`, indented(args))
	cfg, err := v1alpha2.Decode([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return &cfg.Profiles[0]
}

func indented(args string) string {
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	return "      " + strings.ReplaceAll(args, "\n", "\n      ")
}

func newCluster() *cluster.Cluster {
	return cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
}

func made(t fataler, c *cluster.Cluster, args string) (*LoadAware, *predicates.Profile, *Metrics) {
	t.Helper()
	return madeFrom(t, c, configured(t, args))
}

func madeFrom(t fataler, c *cluster.Cluster, cfg *config.Profile) (*LoadAware, *predicates.Profile, *Metrics) {
	t.Helper()
	metrics := NewMetrics(prometheus.NewRegistry())
	load := New(cfg, Options{Logger: slog.New(slog.DiscardHandler), Metrics: metrics})
	profile, err := predicates.NewProfile(cfg, load.Plugin())
	if err != nil {
		t.Fatal(err)
	}
	return load, profile, metrics
}

func (s scene) raise(t fataler) raised {
	t.Helper()
	r := raised{cluster: newCluster()}
	r.load, r.profile, r.metrics = made(t, r.cluster, s.args)
	node := nodeObject("node", s.node...)
	if err := r.cluster.Set(node); err != nil {
		t.Fatal(err)
	}
	if s.usage != nil {
		r.cluster.SetUsage(node.Name, s.usage())
	}
	for _, pod := range s.pods {
		pod.Spec.NodeName = node.Name
		if err := r.cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
	}
	if s.pod == nil {
		s.pod = podObject("new", asking("cpu", "0.0", "memory", "0"))
	}
	snap := r.cluster.Snapshot()
	r.node, r.pod = snap.NodeByName(node.Name), cluster.NewPod(s.pod)
	return r
}

// nodeObject is a node of 10 CPUs and, to have short numbers, 10,000 bytes of memory.
func nodeObject(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	n.Status.Allocatable = amounts("cpu", "10", "memory", "10000")
	for _, f := range change {
		f(n)
	}
	return n
}

func annotatedNode(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) }
}

func offering(namesAndQuantities ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable = amounts(namesAndQuantities...) }
}

// podObject is a pod that asks for 1 CPU and 1,000 bytes, so that it is estimated to use 850m and
// 700 bytes by default, and was scheduled long ago.
func podObject(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	asking("cpu", "1", "memory", "1000")(p)
	became(corev1.PodScheduled, -time.Hour)(p)
	for _, f := range change {
		f(p)
	}
	return p
}

func asking(namesAndQuantities ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = amounts(namesAndQuantities...) }
}

func limitedTo(namesAndQuantities ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = amounts(namesAndQuantities...) }
}

// became has a condition be true since some time after the node was measured.
func became(condition corev1.PodConditionType, after time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		kept := p.Status.Conditions[:0]
		for _, c := range p.Status.Conditions {
			if c.Type != condition {
				kept = append(kept, c)
			}
		}
		p.Status.Conditions = append(kept, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(updated.Add(after)),
		})
	}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

func ofClass(class string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{LabelPriorityClass: class} }
}

func ofPriority(priority int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &priority }
}

func ofQuality(class corev1.PodQOSClass) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.QOSClass = class }
}

func ownedBy(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner"}} }
}

func amounts(namesAndQuantities ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(namesAndQuantities); i += 2 {
		list[corev1.ResourceName(namesAndQuantities[i])] = resource.MustParse(namesAndQuantities[i+1])
	}
	return list
}

// figure is a part of what was measured.
type figure func(*cluster.Usage)

// measured is the usage of a node that was looked at as soon as it was measured.
func using(cpu, memory string, more ...figure) func() *cluster.Usage {
	return func() *cluster.Usage {
		u := &cluster.Usage{
			Updated: updated, Seen: updated, Interval: time.Minute,
			Node: cluster.ResourcesOf(amounts("cpu", cpu, "memory", memory)), Pods: map[types.NamespacedName]cluster.PodUsage{},
		}
		for _, f := range more {
			f(u)
		}
		return u
	}
}

func aged(age time.Duration) figure {
	return func(u *cluster.Usage) { u.Seen = u.Updated.Add(age) }
}

func neverReported(u *cluster.Usage) { u.Updated = time.Time{} }

func everySoOften(interval time.Duration) figure {
	return func(u *cluster.Usage) { u.Interval = interval }
}

func bySystem(cpu, memory string) figure {
	return func(u *cluster.Usage) {
		u.System = cluster.ResourcesOf(amounts("cpu", cpu, "memory", memory))
	}
}

func byPod(name, cpu, memory string) figure { return byPodOf("", name, cpu, memory) }

func byPodOf(class, name, cpu, memory string) figure {
	return func(u *cluster.Usage) {
		u.Pods[types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}] = cluster.PodUsage{
			Used: cluster.ResourcesOf(amounts("cpu", cpu, "memory", memory)), Priority: class,
		}
	}
}

func aggregated(kind config.AggregationType, over time.Duration, cpu, memory string) figure {
	return func(u *cluster.Usage) {
		a := cluster.Aggregate{Type: string(kind), Duration: over}
		if cpu != "" {
			a.Used = cluster.ResourcesOf(amounts("cpu", cpu, "memory", memory))
		}
		u.Aggregated = append(u.Aggregated, a)
	}
}
