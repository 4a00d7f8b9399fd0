package predicates

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// spreadCrowd is 5,000 nodes in five zones, each with a pod of each of ten applications.
func spreadCrowd(b *testing.B) *cluster.Cluster {
	c := newCluster()
	for i := range 5_000 {
		name := fmt.Sprint("node-", i)
		if err := c.Set(
			node(called(name), labelled(corev1.LabelHostname, name), labelled(corev1.LabelTopologyZone, fmt.Sprint("zone-", i%5))),
		); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 50_000 {
		placed := web(fmt.Sprint("node-", i%5_000))
		placed.UID = types.UID(fmt.Sprint("pod-", i))
		if app := i / 5_000; app > 0 {
			placed.Labels["app"] = fmt.Sprint("app-", app)
		}
		if err := c.Set(placed); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Set(service("web", map[string]string{"app": "web"})); err != nil {
		b.Fatal(err)
	}
	return c
}

// spreadStore remembers what PodTopologySpread alone says.
func spreadStore(b *testing.B, c *cluster.Cluster) *VerdictStore {
	profile, err := NewProfile(
		&config.Profile{Equivalence: config.EquivalenceTemplate, Plugins: onlyPlugin(config.PodTopologySpread)},
	)
	if err != nil {
		b.Fatal(err)
	}
	return NewVerdictStore(profile, c, 1<<30, NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
}

// A pod with a hard constraint by zone is judged on all nodes: from scratch, and after one node got or lost a
// pod that counts.
func BenchmarkPodTopologySpread(b *testing.B) {
	c := spreadCrowd(b)
	store := spreadStore(b, c)
	pod := cluster.NewPod(web("", spreadBy(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule)))
	b.Run("fresh", func(b *testing.B) {
		snap := c.Snapshot()
		for b.Loop() {
			j := store.Profile.Judge(pod, snap)
			for node := range snap.Nodes() {
				j.Verdict(node)
			}
		}
	})
	b.Run("one node changed", func(b *testing.B) {
		store.Refresh(pod)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			turnOver(b, c, i)
			b.StartTimer()
			view := store.View(pod)
			view.Close()
		}
	})
}

// turnOver places a pod, or takes it away again.
func turnOver(b *testing.B, c *cluster.Cluster, round int) {
	change := c.Set
	if round%2 == 1 {
		change = c.Delete
	}
	placed := web(fmt.Sprint("node-", round/2%5_000))
	placed.UID = "turned over"
	if err := change(placed); err != nil {
		b.Fatal(err)
	}
	c.Snapshot()
}

// All nodes are rated for a pod without constraints of its own.
func BenchmarkPodTopologySpreadScore(b *testing.B) {
	c := spreadCrowd(b)
	store := spreadStore(b, c)
	pod := cluster.NewPod(web(""))
	var nodes []int32
	for node := range c.Snapshot().Nodes() {
		nodes = append(nodes, node.Index)
	}
	ratings := make([]int64, len(nodes))
	b.Run("fresh", func(b *testing.B) {
		snap := c.Snapshot()
		for b.Loop() {
			store.Profile.Judge(pod, snap)
		}
	})
	b.Run("rate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			view := store.View(pod)
			view.Rank(nodes, ratings)
			view.Close()
		}
	})
	b.Run("one node changed", func(b *testing.B) {
		store.Refresh(pod)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			turnOver(b, c, i)
			b.StartTimer()
			view := store.View(pod)
			view.Close()
		}
	})
}
