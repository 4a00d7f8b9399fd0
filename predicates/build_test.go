package predicates

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

func newCluster() *cluster.Cluster {
	return cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: math.MaxInt64})
}

// scene is a node, what else there is in the cluster, and a pod that asks for a place on
// that node.
type scene struct {
	node *corev1.Node
	// others are more nodes, of other names.
	others []*corev1.Node
	// placed pods are on the node, unless they name another one.
	placed []*corev1.Pod
	// coming pods were decided to be on the node, and are not bound.
	coming []*corev1.Pod
	// objects are part of no node.
	objects []runtime.Object
	pod     *corev1.Pod
}

// raise gives the scene to a cluster. Where the scene is silent, there is a roomy node
// and a pod that asks for nothing.
func (s scene) raise(t *testing.T) (*cluster.Snapshot, *cluster.Node, *cluster.Pod) {
	t.Helper()
	if s.node == nil {
		s.node = node(offering("cpu", "64", "memory", "256Gi", "pods", "110"))
	}
	if s.pod == nil {
		s.pod = pod()
	}
	objects := append([]runtime.Object{s.node}, s.objects...)
	for _, other := range s.others {
		objects = append(objects, other)
	}
	for i, placed := range s.placed {
		placed.Name = "placed-" + string(rune('a'+i))
		placed.Spec.NodeName, placed.UID = cmp.Or(placed.Spec.NodeName, s.node.Name), types.UID(placed.Name)
		objects = append(objects, placed)
	}
	c := newCluster()
	for _, object := range objects {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	for i, coming := range s.coming {
		coming.UID = types.UID(fmt.Sprintf("coming-%d", i))
		if err := c.Set(coming); err != nil {
			t.Fatal(err)
		}
		if err := c.AssumeAll([]*cluster.Pod{c.PendingPod(coming.UID)}, c.Snapshot().NodeByName(s.node.Name)); err != nil {
			t.Fatal(err)
		}
	}
	subject := cluster.NewPod(s.pod)
	if len(s.pod.Spec.ResourceClaims) > 0 { // it is the view that knows its claims
		s.pod.UID = "asked"
		if err := c.Set(s.pod); err != nil {
			t.Fatal(err)
		}
		subject = c.PendingPod("asked")
	}
	snap := c.Snapshot()
	return snap, snap.NodeByName(s.node.Name), subject
}

// profileWith is a profile with all default plugins and one plugin's arguments.
func profileWith(plugin string, args config.PluginArgs) *config.Profile {
	profile := &config.Profile{SchedulerName: corev1.DefaultSchedulerName}
	if args != nil {
		profile.PluginConfig = []config.PluginConfig{{Name: plugin, Args: args}}
	}
	return profile
}

// withEveryPlugin also turns on the plugins that do not run by default, except plugins of other packages.
func withEveryPlugin(profile *config.Profile) *config.Profile {
	for _, known := range config.KnownPlugins() {
		if _, err := find(registrations(), known.Name); err != nil {
			continue
		}
		if known.Filter == config.OnRequest {
			profile.Plugins.Filter.Enabled = append(profile.Plugins.Filter.Enabled, config.Plugin{Name: known.Name})
		}
		if known.Score == config.OnRequest {
			profile.Plugins.Score.Enabled = append(profile.Plugins.Score.Enabled, config.WeightedPlugin{Name: known.Name})
		}
	}
	profile.PluginConfig = append(profile.PluginConfig, config.PluginConfig{
		Name: config.WholeDomains, Args: &config.WholeDomainsArgs{Levels: []string{"zone"}},
	})
	return profile
}

type verdictCase struct {
	name  string
	args  config.PluginArgs // nil stands for the default
	scene scene
	// reason is "" for a pod that fits.
	reason     string
	resolvable bool
	// everywhere means that the predicate has nothing to say of the pod on any node.
	everywhere bool
}

// checkVerdicts tries a predicate by its name.
func checkVerdicts(t *testing.T, plugin string, cases []verdictCase) {
	t.Helper()
	r, err := find(registrations(), plugin)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			predicate, err := r.filter(profileWith(plugin, test.args))
			if err != nil {
				t.Fatal(err)
			}
			if predicate.Name() != plugin {
				t.Errorf("its name is %q", predicate.Name())
			}
			snap, node, pod := test.scene.raise(t)
			check := predicate.For(pod, snap)
			if (check == nil) != test.everywhere {
				t.Fatalf("it concerns the pod: %v", check != nil)
			}
			if check == nil {
				return
			}
			if digest, ok := check.(Digest); ok {
				digest.Update(snap, beginning(digest, snap, indexesOf(snap)))
			}
			verdict := check.Verdict(node)
			if got := new(Profile).Reason(verdict, pod); got != test.reason {
				t.Errorf("reason %q, want %q", got, test.reason)
			}
			if (verdict == Fits) != (test.reason == "") {
				t.Errorf("fits: %v", verdict == Fits)
			}
			if verdict.Resolvable() != test.resolvable {
				t.Errorf("resolvable: %v", verdict.Resolvable())
			}
		})
	}
}

type rateCase struct {
	name  string
	args  config.PluginArgs // nil stands for the default
	scene scene
	want  int64
	// alike means that all nodes are as good as each other for the pod.
	alike bool
}

// checkRates tries a score by its name.
func checkRates(t *testing.T, plugin string, cases []rateCase) {
	t.Helper()
	r, err := find(registrations(), plugin)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			score, err := r.score(profileWith(plugin, test.args))
			if err != nil {
				t.Fatal(err)
			}
			if score.Name() != plugin {
				t.Errorf("its name is %q", score.Name())
			}
			snap, node, pod := test.scene.raise(t)
			rating := score.For(pod, snap)
			if alike := rating.Alone == nil && rating.Among == nil; alike != test.alike {
				t.Fatalf("it tells nodes apart: %v", !alike)
			} else if alike {
				return
			}
			if got := rateAmongAll(rating, snap)[node.Name]; got != test.want {
				t.Errorf("rate %d, want %d", got, test.want)
			}
		})
	}
}

// rateAmongAll rates all nodes of a snapshot, as compared with each other if need be, by
// their names.
func rateAmongAll(rating Rating, snap *cluster.Snapshot) map[string]int64 {
	rated := map[string]int64{}
	var nodes []int32
	for node := range snap.Nodes() {
		if rating.Alone != nil {
			rated[node.Name] = rating.Alone(node)
		}
		nodes = append(nodes, node.Index)
	}
	if rating.Among != nil {
		rating.Among.Update(snap, beginning(rating.Among, snap, indexesOf(snap)))
		ratings := make([]int64, len(nodes))
		rating.Among.Rate(nodes, nil, ratings)
		for i, index := range nodes {
			rated[snap.Node(index).Name] = ratings[i]
		}
	}
	return rated
}

func node(change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	for _, f := range change {
		f(n)
	}
	return n
}

// pod is a pod with one container.
func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: metav1.NamespaceDefault, UID: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// amounts reads names and quantities in turn.
func amounts(namesAndQuantities ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(namesAndQuantities); i += 2 {
		list[corev1.ResourceName(namesAndQuantities[i])] = resource.MustParse(namesAndQuantities[i+1])
	}
	return list
}

func offering(namesAndQuantities ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable = amounts(namesAndQuantities...) }
}

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, key, value) }
}

func tainted(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

// holding gives the node an image of that size, under one or more names.
func holding(mebibytes int64, names ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: names, SizeBytes: mebibytes << 20})
	}
}

func called(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Name = name }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// asking adds to what the pod's first container asks for.
func asking(namesAndQuantities ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = amounts(namesAndQuantities...) }
}

func tolerating(toleration corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, toleration) }
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// requiring gives the pod a required node affinity of these terms.
func requiring(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: required(terms...)} }
}

func required(terms ...corev1.NodeSelectorTerm) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}

// preferring gives the pod a preferred node affinity of these terms.
func preferring(terms ...corev1.PreferredSchedulingTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: preferred(terms...)} }
}

func preferred(terms ...corev1.PreferredSchedulingTerm) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
}

func preferredTerm(weight int32, term corev1.NodeSelectorTerm) corev1.PreferredSchedulingTerm {
	return corev1.PreferredSchedulingTerm{Weight: weight, Preference: term}
}

// label is a term about one label.
func label(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

// named is a term about the node's name.
func named(operator corev1.NodeSelectorOperator, names ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: operator, Values: names}},
	}
}

// running gives the pod containers of these images.
func running(images ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = nil
		for _, image := range images {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Image: image})
		}
	}
}

// taking gives the pod's first container a host port.
func taking(ip string, protocol corev1.Protocol, port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Ports = append(c.Ports, corev1.ContainerPort{HostIP: ip, Protocol: protocol, HostPort: port})
	}
}
