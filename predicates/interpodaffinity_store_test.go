package predicates

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// newAffinityBench is a store of a profile that has no other plugin.
func newAffinityBench(t interface{ Fatal(...any) }) *storeBench {
	profile, err := NewProfile(profileOf(config.InterPodAffinity))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	metrics := NewStoreMetrics(registry)
	return &storeBench{cluster: c, store: NewVerdictStore(profile, c, 1<<30, metrics, clock.RealClock{}), metrics: metrics}
}

// onlyPlugin is one plugin that filters and scores, and no other.
func onlyPlugin(plugin string) config.Plugins {
	none := []config.Plugin{{Name: config.AllPlugins}}
	return config.Plugins{
		Filter: config.PluginSet{Enabled: []config.Plugin{{Name: plugin}}, Disabled: none},
		Score:  config.ScoreSet{Enabled: []config.WeightedPlugin{{Name: plugin}}, Disabled: none},
	}
}

// profileOf is a profile of one plugin.
func profileOf(plugin string) *config.Profile {
	return &config.Profile{
		SchedulerName: corev1.DefaultSchedulerName, Equivalence: config.EquivalenceTemplate,
		Plugins: onlyPlugin(plugin),
	}
}

// TestRememberedInterPodAffinityIsNeverStale changes what it reads of nodes, pods and
// namespaces at random, and compares what is remembered with what a fresh judgement
// says, supposed changes of nodes included.
func TestRememberedInterPodAffinityIsNeverStale(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		b := newAffinityBench(t)
		kinds := make([]*corev1.Pod, 4)
		for i := range kinds {
			kinds[i] = drawAffinePod(t)
		}
		some := rapid.IntRange(0, 4)
		nodeName := func(t *rapid.T) string { return fmt.Sprint("node-", some.Draw(t, "node")) }
		placed := func(t *rapid.T) *corev1.Pod {
			kind := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
			p := kinds[kind].DeepCopy()
			p.Name = fmt.Sprint("pod-", kind, "-", some.Draw(t, "number"))
			p.UID = types.UID(p.Name)
			return p
		}
		apply := func(change func(runtime.Object) error, object runtime.Object) {
			if err := change(object); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"set a node": func(t *rapid.T) {
				n := node(called(nodeName(t)))
				for _, key := range []string{"zone", "host"} {
					if value := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, key); value != "" {
						labelled(key, value)(n)
					}
				}
				apply(b.cluster.Set, n)
			},
			"delete a node": func(t *rapid.T) { apply(b.cluster.Delete, node(called(nodeName(t)))) },
			"place a pod": func(t *rapid.T) {
				p := placed(t)
				onNode(nodeName(t))(p)
				apply(b.cluster.Set, p)
			},
			"label a pod": func(t *rapid.T) {
				p := placed(t)
				onNode(nodeName(t))(p)
				wearing("app", rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app"))(p)
				apply(b.cluster.Set, p)
			},
			"delete a pod": func(t *rapid.T) { apply(b.cluster.Delete, placed(t)) },
			"label a namespace": func(t *rapid.T) {
				apply(
					b.cluster.Set,
					namespace(
						rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "name"), "team", rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "team"),
					),
				)
			},
			"delete a namespace": func(t *rapid.T) {
				apply(b.cluster.Delete, namespace(rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "name")))
			},
			"": func(t *rapid.T) {
				for _, kind := range kinds {
					if rapid.Bool().Draw(t, "ask") { // so that some lag behind
						compareWithFresh(t, b, kind)
						compareSuppositions(t, b, kind)
					}
				}
			},
		})
	})
}

// compareSuppositions supposes nodes to have no pods, and puts them back.
func compareSuppositions(t *rapid.T, b *storeBench, object *corev1.Pod) {
	view := b.store.View(cluster.NewPod(object))
	defer view.Close()
	c := newCluster()
	set := func(object runtime.Object) {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range view.Snapshot.Namespaces.All() {
		set(namespace)
	}
	var nodes []int32
	for node := range view.Snapshot.Nodes() {
		set(node.Node)
		nodes = append(nodes, node.Index)
		if rapid.Bool().Draw(t, "empty "+node.Name) {
			empty := *node
			empty.Pods, empty.Affine = nil, nil
			view.judgement.suppose(view.Snapshot, &empty)
			defer view.judgement.suppose(view.Snapshot, node)
			continue
		}
		for _, p := range node.Pods {
			set(p.Pod)
		}
	}
	snap := c.Snapshot()
	fresh := b.store.Profile.Judge(cluster.NewPod(object), snap)
	same := make([]int32, len(nodes)) // the nodes under their indexes there
	for i, index := range nodes {
		node := view.Snapshot.Node(index)
		same[i] = snap.NodeByName(node.Name).Index
		if got, want := view.judgement.Verdict(node), fresh.Verdict(snap.Node(same[i])); got != want {
			t.Fatalf("%s: supposed verdict %d, want %d", node.Name, got, want)
		}
	}
	got, want := make([]int64, len(nodes)), make([]int64, len(nodes))
	view.judgement.compare(nodes, nil, got, make([]int64, len(nodes)))
	fresh.compare(same, nil, want, make([]int64, len(nodes)))
	if !slices.Equal(got, want) {
		t.Fatalf("supposed totals %d, want %d", got, want)
	}
}

// drawAffinePod draws a pod that others may be about, with terms of all kinds.
func drawAffinePod(t *rapid.T) *corev1.Pod {
	draw := func(what string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, what) }
	p := pod(wearing("app", draw("app", "web", "db")), within(draw("namespace", "red", "blue")))
	for range rapid.IntRange(0, 3).Draw(t, "terms") {
		term := aboutPods(draw("key", "zone", "host"), "app", draw("selected app", "web", "db"))
		switch draw("namespaces", "own", "named", "selected") {
		case "named":
			term = inNamespaces(term, draw("named", "red", "blue"))
		case "selected":
			term = inNamespacesThat(term, &metav1.LabelSelector{MatchLabels: map[string]string{"team": draw("team", "red", "blue")}})
		}
		switch draw("kind", "required", "forbidden", "liked", "shunned") {
		case "required":
			keepingTo(append(podAffinityOf(p).RequiredDuringSchedulingIgnoredDuringExecution, term)...)(p)
		case "forbidden":
			keepingOff(append(podAntiAffinityOf(p).RequiredDuringSchedulingIgnoredDuringExecution, term)...)(p)
		case "liked":
			liking(rapid.Int32Range(1, 3).Draw(t, "weight"), term)(p)
		case "shunned":
			shunning(rapid.Int32Range(1, 3).Draw(t, "weight"), term)(p)
		}
	}
	return p
}

func TestInterPodAffinityIsEvaluatedAnewOnlyWhereAnotherPodMatters(t *testing.T) {
	b := newAffinityBench(t)
	apply := func(change func(runtime.Object) error, object runtime.Object) {
		t.Helper()
		if err := change(object); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, node string, change ...func(*corev1.Pod)) {
		p := pod(append(change, onNode(node))...)
		p.Name, p.UID = name, types.UID(name)
		apply(b.cluster.Set, p)
	}
	for i := range 9 {
		apply(b.cluster.Set, node(called(fmt.Sprint("node-", i)), labelled("zone", fmt.Sprint(i%3)), labelled("host", fmt.Sprint(i))))
	}
	apply(b.cluster.Set, namespace("default"))
	apply(b.cluster.Set, namespace("other"))
	web := wearing("app", "web")
	shy := pod(web, keepingOff(aboutPods("zone", "app", "web")))
	social := pod(web, keepingTo(aboutPods("zone", "app", "web")))
	selective := pod(
		keepingOff(inNamespacesThat(aboutPods("zone", "app", "web"), &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}})),
	)
	for _, step := range []struct {
		name   string
		change func()
		want   map[string]int // evaluations by what was asked and why
	}{
		{"all are new", func() {}, map[string]int{"shy by node": 9, "social by node": 9, "selective by node": 9, "plain by node": 9}},
		{
			"a pod that some shun and the first of a group wants came to a zone of three", func() { put("a", "node-0", web) },
			map[string]int{
				"shy by pods": 1, "shy by others": 3, "social by pods": 1, "social by others": 9, "selective by pods": 1, "plain by pods": 1,
			},
		},
		{
			"another came to the zone, where it makes no difference", func() { put("b", "node-3", web) },
			map[string]int{"shy by pods": 1, "social by pods": 1, "selective by pods": 1, "plain by pods": 1},
		},
		{
			"another came to another zone", func() { put("c", "node-1", web) },
			map[string]int{
				"shy by pods": 1, "shy by others": 3, "social by pods": 1, "social by others": 3, "selective by pods": 1, "plain by pods": 1,
			},
		},
		{
			"the last left a zone", func() { apply(b.cluster.Delete, pod(func(p *corev1.Pod) { p.UID = "c" })) },
			map[string]int{
				"shy by pods": 1, "shy by others": 3, "social by pods": 1, "social by others": 3, "selective by pods": 1, "plain by pods": 1,
			},
		},
		{
			"a pod came that shuns none of them", func() { put("d", "node-2", keepingOff(aboutPods("host", "app", "db"))) },
			map[string]int{"shy by pods": 1, "social by pods": 1, "selective by pods": 1, "plain by pods": 1},
		},
		{
			"a pod came that shuns those without a name", func() {
				put("e", "node-2", keepingOff(corev1.PodAffinityTerm{TopologyKey: "host", LabelSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}},
				}}))
			},
			map[string]int{
				"shy by pods": 1, "social by pods": 1, "selective by pods": 1, "selective by others": 1, "plain by pods": 1,
				"plain by others": 1,
			},
		},
		{
			"a namespace was labelled that a selector is about", func() { apply(b.cluster.Set, namespace("other", "team", "red")) },
			map[string]int{"selective by namespaces": 9},
		},
		{
			"a namespace got a label that nobody asks for", func() { apply(b.cluster.Set, namespace("other", "team", "red", "stage", "live")) },
			map[string]int{},
		},
		{"a namespace came that no selector is about", func() { apply(b.cluster.Set, namespace("third", "team", "blue")) }, map[string]int{}},
		{
			"the pods' own namespace was labelled, which terms to come may select", func() {
				apply(b.cluster.Set, namespace("default", "stage", "live"))
			},
			map[string]int{"shy by namespaces": 9, "social by namespaces": 9, "selective by namespaces": 9, "plain by namespaces": 9},
		},
		{
			"a node changed its zone, and brought a pod along", func() {
				apply(b.cluster.Set, node(called("node-0"), labelled("zone", "1"), labelled("host", "0")))
			},
			map[string]int{
				"shy by labels": 1, "shy by others": 4, "social by labels": 1, "social by others": 4, "selective by labels": 1,
				"plain by labels": 1,
			},
		},
	} {
		step.change()
		got := map[string]int{}
		for name, object := range map[string]*corev1.Pod{"shy": shy, "social": social, "selective": selective, "plain": pod()} {
			b.askAll(object)
			for _, cause := range []string{"node", "labels", "pods", "namespaces", "others"} {
				if n := testutil.ToFloat64(b.metrics.evaluated.WithLabelValues(corev1.DefaultSchedulerName, config.InterPodAffinity, cause)); n != 0 {
					got[name+" by "+cause] = int(n)
				}
			}
			b.metrics.evaluated.Reset()
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
