package loadaware

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// TestARememberedVerdictIsNeverStale changes a cluster at random and compares what a verdict store
// remembers with what a profile says that was made for the comparison.
func TestARememberedVerdictIsNeverStale(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c, config := newCluster(), configured(t, drawArgs(t))
		_, profile, _ := madeFrom(t, c, config)
		store := predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
		nodes, pods := rapid.SampledFrom([]string{"n1", "n2", "n3"}), rapid.SampledFrom([]string{"a", "b", "c", "d"})
		asked := []*cluster.Pod{cluster.NewPod(drawPod(t, "asked-1")), cluster.NewPod(drawPod(t, "asked-2"))}
		t.Repeat(map[string]func(*rapid.T){
			"a node is set":      func(t *rapid.T) { _ = c.Set(drawNode(t, nodes.Draw(t, "node"))) },
			"a node goes":        func(t *rapid.T) { _ = c.Delete(nodeObject(nodes.Draw(t, "node"))) },
			"a node is measured": func(t *rapid.T) { c.SetUsage(nodes.Draw(t, "node"), drawUsage(t)()) },
			"a node is looked at later": func(t *rapid.T) {
				if node := c.Snapshot().NodeByName(nodes.Draw(t, "node")); node != nil && node.Usage != nil {
					next := *node.Usage
					next.Seen = next.Seen.Add(time.Minute)
					c.SetUsage(node.Name, &next)
				}
			},
			"nothing is known of a node": func(t *rapid.T) { c.SetUsage(nodes.Draw(t, "node"), nil) },
			"a pod is bound, or changes": func(t *rapid.T) {
				pod := drawPod(t, pods.Draw(t, "pod"))
				pod.Spec.NodeName = nodes.Draw(t, "node")
				_ = c.Set(pod)
			},
			"a pod changes a little": func(t *rapid.T) { changePod(t, c, nodes.Draw(t, "node"), traits()...) },
			"a pod is resized":       func(t *rapid.T) { changePod(t, c, nodes.Draw(t, "node"), traits()[0]) },
			"a pod goes":             func(t *rapid.T) { _ = c.Delete(podObject(pods.Draw(t, "pod"))) },
			"a pod is assumed": func(t *rapid.T) {
				snap := c.Snapshot()
				if node := snap.NodeByName(nodes.Draw(t, "node")); node != nil {
					_ = c.AssumeAll([]*cluster.Pod{cluster.NewPod(drawPod(t, pods.Draw(t, "pod")))}, node) // it may be placed
				}
			},
			"a pod is expected": func(t *rapid.T) {
				c.Expect(cluster.NewPod(drawPod(t, pods.Draw(t, "pod"))), nodes.Draw(t, "node"))
			},
			"a pod is released": func(t *rapid.T) { c.Release(types.UID(pods.Draw(t, "pod"))) },
			"": func(t *rapid.T) {
				_, anew, _ := madeFrom(t, c, config)
				for _, pod := range asked {
					if rapid.Bool().Draw(t, "ask") { // not always, so that some lag behind
						compare(t, store, anew, pod)
					}
				}
			},
		})
	})
}

func compare(t *rapid.T, store *predicates.VerdictStore, anew *predicates.Profile, pod *cluster.Pod) {
	view := store.View(pod)
	defer view.Close()
	fresh := anew.Judge(pod, view.Snapshot)
	asked := rapid.Uint64().Draw(t, "asked") // not always about all nodes, so that some stay unjudged
	var nodes []int32
	for node := range view.Snapshot.Nodes() {
		if asked>>(node.Index%64)&1 == 0 {
			continue
		}
		if got, want := view.Verdict(node.Index), fresh.Verdict(node); got != want {
			t.Fatalf("on %s: remembered %q, fresh %q", node.Name, view.Reason(got), view.Reason(want))
		}
		nodes = append(nodes, node.Index)
	}
	got, want := make([]int64, len(nodes)), make([]int64, len(nodes))
	view.Rank(nodes, got)
	fresh.Rank(nodes, want)
	if !slices.Equal(got, want) {
		t.Fatalf("remembered totals %d, fresh %d", got, want)
	}
}

// changePod gives a pod on a node another trait.
func changePod(t *rapid.T, c *cluster.Cluster, node string, traits ...[]func(*corev1.Pod)) {
	now := c.Snapshot().NodeByName(node)
	if now == nil || len(now.Pods) == 0 {
		return
	}
	pod := rapid.SampledFrom(now.Pods).Draw(t, "pod").DeepCopy()
	rapid.SampledFrom(rapid.SampledFrom(traits).Draw(t, "kind of trait")).Draw(t, "trait")(pod)
	_ = c.Set(pod)
}
