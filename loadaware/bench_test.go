package loadaware

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// BenchmarkLoadOfANode measures filter and score of 5,000 nodes that did not change, and what it costs
// to look at one that did.
func BenchmarkLoadOfANode(b *testing.B) {
	const rounds = 200
	nodes := 5000
	if text := os.Getenv("BENCH_NODES"); text != "" {
		var err error
		if nodes, err = strconv.Atoi(text); err != nil || nodes < 1 {
			b.Fatalf("BENCH_NODES=%s: want a number of at least 1", text)
		}
	}
	c := newCluster()
	load, _, _ := made(b, c, "")
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		_ = c.Set(nodeObject(name))
		figures := []figure{}
		for j := range i % 20 {
			pod := podObject(fmt.Sprintf("pod-%d-%d", i, j))
			pod.Spec.NodeName = name
			_ = c.Set(pod)
			figures = append(figures, byPod(pod.Name, "100m", "100"))
		}
		c.SetUsage(name, using("2", "3000", figures...)())
	}
	snap := c.Snapshot()
	pod := cluster.NewPod(podObject("new"))
	check, rating := filter{load, 0}.For(pod, snap), score{load}.For(pod, snap)
	var all []*cluster.Node
	for node := range snap.Nodes() {
		all = append(all, node)
	}
	var fitting, total int64
	look := func() {
		for _, node := range all {
			if check.Verdict(node) == predicates.Fits {
				fitting++
			}
			total += rating.Alone(node)
		}
	}
	started := time.Now()
	look()
	anew := time.Since(started)
	allocations := testing.AllocsPerRun(10, look)
	for b.Loop() {
		var took []time.Duration
		for range rounds {
			started := time.Now()
			look()
			took = append(took, time.Since(started))
		}
		slices.Sort(took)
		fmt.Printf("figure load_ns_per_node=%.1f\n", float64(took[rounds/2].Nanoseconds())/float64(nodes))
		fmt.Printf("figure load_allocs=%.0f\n", allocations)
		fmt.Printf("figure load_ns_per_changed_node=%.0f\n", float64(anew.Nanoseconds())/float64(nodes))
	}
	if fitting == 0 || total == 0 {
		b.Errorf("%d fit, the sum of scores is %d", fitting, total)
	}
}
