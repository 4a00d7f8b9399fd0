package placement

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// newPackedStore is newStore with a profile that keeps the domains of some levels whole.
func newPackedStore(t interface{ Fatal(...any) }, levels ...string) (*cluster.Cluster, *predicates.VerdictStore) {
	weight := int32(20)
	cfg := config.Default()
	cfg.Profiles[0].NodeSelection = config.NodeSelectionMuster
	cfg.Profiles[0].Plugins.Score.Enabled = []config.WeightedPlugin{{Name: config.WholeDomains, Weight: &weight}}
	cfg.Profiles[0].PluginConfig = []config.PluginConfig{{Name: config.WholeDomains, Args: &config.WholeDomainsArgs{Levels: levels}}}
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	return c, predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(registry), clock.RealClock{})
}

// Eight nodes are pairs, and pairs are quads. Of the quads one has two pods and the other one has one: so Volcano's documentation
// of packing by HyperNodes has it.
func TestPodsAloneGoBesideOthersAndAQuadStaysFree(t *testing.T) {
	c, store := newPackedStore(t, "quad", "pair")
	for i := range 8 {
		node := amount{cpu: 1}.node(fmt.Sprint("n", i))
		node.Labels = map[string]string{"quad": fmt.Sprint(i / 4), "pair": fmt.Sprint(i / 2)}
		set(t, c, node)
	}
	for _, i := range []int{0, 2, 4} {
		placed := amount{cpu: 1}.pod(fmt.Sprint("placed-", i))
		placed.Spec.NodeName = fmt.Sprint("n", i)
		set(t, c, placed)
	}
	for seed := range uint64(20) {
		pods := podsAsking(amount{cpu: 1}, "pod", 2)
		plan := New(store, pods, seed)
		var nodes []string
		for _, pod := range pods {
			nodes = append(nodes, plan.Snapshot().Node(plan.Place(pod)).Name)
		}
		plan.Close()
		if slices.Sort(nodes); !slices.Equal(nodes, []string{"n1", "n3"}) {
			t.Errorf("seed %d: the pods are on %v, want n1 and n3", seed, nodes)
		}
	}
}

// TestAPlanThatKeepsDomainsWholePlacesWhatAnyPlanDoes draws nodes and one pod after the other. A pod has a place if it fits
// anywhere, the place is the best one of that moment, and the same seed finds the same.
func TestAPlanThatKeepsDomainsWholePlacesWhatAnyPlanDoes(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c, store := newPackedStore(t, corev1.LabelTopologyZone, "rack")
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			node := drawNode(t, fmt.Sprint("node-", i))
			if rack := rapid.IntRange(0, 3).Draw(t, "rack"); rack > 0 {
				node.Labels["rack"] = fmt.Sprint(rack)
			}
			set(t, c, node)
		}
		var pods []*cluster.Pod
		for i := range rapid.IntRange(1, 20).Draw(t, "pods") {
			pods = append(pods, cluster.NewPod(drawPod(t, fmt.Sprint("pod-", i))))
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var before []int32
		for range 2 {
			plan := New(store, pods, seed)
			var places []int32
			for _, pod := range pods {
				rated := fresh(store.Profile, plan, pod)
				best := worst
				for _, r := range rated {
					if r.over(best) {
						best = r
					}
				}
				got := plan.Place(pod)
				if (got < 0) != (len(rated) == 0) || got >= 0 && rated[got] != best {
					t.Fatalf("%s is on node %d, which rates %+v, and the best one %+v", pod.Name, got, rated[got], best)
				}
				places = append(places, got)
			}
			plan.Close()
			if before != nil && !slices.Equal(before, places) {
				t.Fatalf("the pods are on %v, and with the same seed on %v", before, places)
			}
			before = places
		}
	})
}
