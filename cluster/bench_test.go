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

// One of 5,000 nodes changes its zone, and somebody asks for the domains of two keys. One of the keys has a
// domain per node.
func BenchmarkDomainsAfterNodeEvent(b *testing.B) {
	const nodes = 5000
	c := newCluster(b)
	for n := range nodes {
		set(b, c, nodeObject(fmt.Sprint("node-", n), inZone(fmt.Sprint(n%3))))
	}
	moving := []*corev1.Node{nodeObject("node-0", inZone("1")), nodeObject("node-0", inZone("0"))}
	c.Snapshot().Domains(zone)
	c.Snapshot().Domains(corev1.LabelHostname)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		set(b, c, moving[i%2])
		s := c.Snapshot()
		if s.Domains(zone).End() != 3 || s.Domains(corev1.LabelHostname).End() != nodes {
			b.Fatal("a domain is missing")
		}
	}
}
