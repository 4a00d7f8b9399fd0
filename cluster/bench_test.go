package cluster

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// One pod comes or goes on one of 5,000 nodes, and somebody looks: what the
// copies of the chunk, the list of chunks and the node cost.
func BenchmarkSnapshotAfterPodEvent(b *testing.B) {
	const nodes, podsPerNode = 5000, 10
	c := newCluster(b)
	for n := range nodes {
		name := fmt.Sprint("node-", n)
		set(b, c, nodeObject(name))
		for p := range podsPerNode {
			set(b, c, podObject(fmt.Sprint(name, "-", p), onNode(name)))
		}
	}
	extra := make([]*corev1.Pod, 1000)
	for i := range extra {
		extra[i] = podObject(fmt.Sprint("extra-", i), onNode(fmt.Sprint("node-", i*97%nodes)))
	}
	c.Snapshot()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		pod := extra[i/2%len(extra)]
		if i%2 == 0 {
			set(b, c, pod)
		} else {
			remove(b, c, pod)
		}
		if c.Snapshot().NodeCount() != nodes {
			b.Fatal("a node is missing")
		}
	}
}
