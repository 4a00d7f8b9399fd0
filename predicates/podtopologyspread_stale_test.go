package predicates

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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

// spreadPodsOfAllKinds are a pod of each class.
func spreadPodsOfAllKinds() []*corev1.Pod {
	const hard, soft, honor = corev1.DoNotSchedule, corev1.ScheduleAnyway, corev1.NodeInclusionPolicyHonor
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	byDefault := func(replicaSet string) *corev1.Pod { return web("", controlled("apps/v1", "ReplicaSet", replicaSet)) }
	return []*corev1.Pod{
		web("", spreadBy(zone, 1, hard)),
		web("", spreadBy(zone, 2, hard, atLeastDomains(3)), spreadBy(host, 1, hard)),
		web("", selecting("disk", "ssd"), spreadBy(zone, 1, hard), spreadBy("disk", 2, hard, includingNodes(honor, honor))),
		pod(spreadBy(host, 1, hard, atLeastDomains(4))),
		web("", spreadBy(zone, 1, soft), spreadBy(host, 1, soft)),
		web("", selecting("disk", "ssd"), spreadBy(zone, 1, soft, includingNodes(honor, honor)), spreadBy("disk", 3, soft)),
		byDefault("one"),
		byDefault("two"),
		web("", within("other")),
	}
}

// TestARememberedSpreadIsNeverStale changes the cluster at random and compares, after
// every step, what is remembered with a fresh judgement; and what is supposed of a node
// without a pod with what becomes of it.
func TestARememberedSpreadIsNeverStale(t *testing.T) {
	list := &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting, DefaultConstraints: []corev1.TopologySpreadConstraint{
		{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule},
		{TopologyKey: corev1.LabelHostname, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway},
	}}
	system := &config.PodTopologySpreadArgs{DefaultingType: config.SystemDefaulting}
	seeded.Check(t, func(t *rapid.T) {
		cfg := profileWith(config.PodTopologySpread, rapid.SampledFrom([]*config.PodTopologySpreadArgs{list, system}).Draw(t, "defaults"))
		cfg.Equivalence, cfg.Plugins = config.EquivalenceTemplate, onlyPlugin(config.PodTopologySpread)
		profile, err := NewProfile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := &storeBench{cluster: newCluster()}
		b.store = NewVerdictStore(profile, b.cluster, 1<<30, NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})

		draw := func(what string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, what) }
		nodeName := func() string { return fmt.Sprint("node-", rapid.IntRange(0, 5).Draw(t, "node")) }
		selector := func() map[string]string { return map[string]string{"app": draw("selector", "web", "db")} }
		apply := func(object runtime.Object) {
			change := b.cluster.Set
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				change = b.cluster.Delete
			}
			if err := change(object); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"node": func(*rapid.T) {
				object := node(called(nodeName()))
				for key, value := range map[string]string{
					corev1.LabelTopologyZone: draw("zone", "none", "", "a", "b"), "disk": draw("disk", "none", "ssd", "hdd"),
					corev1.LabelHostname: draw("host", "none", object.Name, object.Name, object.Name),
				} {
					if value != "none" {
						labelled(key, value)(object)
					}
				}
				if rapid.Bool().Draw(t, "tainted") {
					tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule)(object)
				}
				apply(object)
			},
			"pod": func(*rapid.T) {
				object := web(nodeName(), wearing("app", draw("app", "web", "web", "db")), within(draw("namespace", "default", "default", "other")))
				if rapid.IntRange(0, 9).Draw(t, "terminating") == 0 {
					terminating(object)
				}
				object.UID = types.UID(fmt.Sprint(object.Namespace, "-", rapid.IntRange(0, 9).Draw(t, "pod")))
				apply(object)
			},
			"service": func(*rapid.T) { apply(service(draw("service", "one", "two"), selector())) },
			"replica set": func(*rapid.T) {
				apply(replicaSetNamed(draw("replica set", "one", "two"), &metav1.LabelSelector{MatchLabels: selector()}))
			},
			"eviction": func(t *rapid.T) {
				snap := b.cluster.Snapshot()
				node := snap.NodeByName(nodeName())
				if node == nil || len(node.Pods) == 0 {
					t.Skip("no pod")
				}
				evicted := node.Pods[0]
				pod := cluster.NewPod(rapid.SampledFrom(spreadPodsOfAllKinds()).Draw(t, "preemptor"))
				supposed := profile.Judge(pod, snap)
				supposed.Suppose(node.WithoutPod(evicted.UID))
				if err := b.cluster.Delete(evicted.Pod); err != nil {
					t.Fatal(err)
				}
				after := b.cluster.Snapshot()
				fresh := profile.Judge(pod, after)
				var nodes []int32
				for node := range after.Nodes() {
					nodes = append(nodes, node.Index)
					if got, want := supposed.Verdict(node), fresh.Verdict(node); got != want {
						t.Fatalf("on %s: supposed %d, became %d", node.Name, got, want)
					}
				}
				got, want := make([]int64, len(nodes)), make([]int64, len(nodes))
				supposed.Rank(nodes, got)
				fresh.Rank(nodes, want)
				if !slices.Equal(got, want) {
					t.Fatalf("supposed totals %d, became %d", got, want)
				}
			},
			"": func(t *rapid.T) {
				// Not every class is asked every time, so that some lag behind.
				for _, pod := range spreadPodsOfAllKinds() {
					if rapid.Bool().Draw(t, "ask") {
						compareWithFresh(t, b, pod)
					}
				}
			},
		})
	})
}
