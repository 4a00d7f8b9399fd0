package predicates

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// 5,000 nodes have ten pods each, of 500 workloads in 20 namespaces. The pods of every
// fifth workload keep off each other's nodes. Pods are asked about that do and that do
// not.
func BenchmarkInterPodAffinity(b *testing.B) {
	const nodes, podsPerNode, workloads = 5000, 10, 500
	podOf := func(workload int, name string) *corev1.Pod {
		app := fmt.Sprintf("app-%d", workload)
		p := pod(within(fmt.Sprintf("namespace-%d", workload%20)), wearing("app", app), wearing("pod-template-hash", "5d4f8c7b9"))
		if workload%5 == 0 {
			keepingOff(aboutPods(corev1.LabelHostname, "app", app))(p)
		}
		p.Name, p.UID = name, types.UID(name)
		return p
	}
	c := newCluster()
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		n := node(called(name), labelled(corev1.LabelHostname, name), labelled(corev1.LabelTopologyZone, fmt.Sprintf("zone-%d", i%3)))
		if err := c.Set(n); err != nil {
			b.Fatal(err)
		}
		for j := range podsPerNode {
			p := podOf((i+j*50)%workloads, fmt.Sprintf("pod-%d-%d", i, j))
			p.Spec.NodeName = name
			if err := c.Set(p); err != nil {
				b.Fatal(err)
			}
		}
	}
	profile, err := NewProfile(&config.Profile{Plugins: onlyPlugin(config.InterPodAffinity)})
	if err != nil {
		b.Fatal(err)
	}
	snap := c.Snapshot()
	for name, asked := range map[string]*cluster.Pod{
		"anti-affinity": cluster.NewPod(podOf(0, "asked")), "no terms": cluster.NewPod(podOf(1, "asked")),
	} {
		b.Run(name+", all nodes", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				judgement := profile.Judge(asked, snap)
				for node := range snap.Nodes() {
					judgement.Verdict(node)
				}
				b.ReportMetric(float64(judgement.size())/nodes, "B/node")
			}
		})
		b.Run(name+", one node changed", func(b *testing.B) {
			judgement := profile.Judge(asked, snap)
			check := judgement.checks[0].(Spanning)
			turned := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				changed := []int32{int32(i % nodes)}
				check.Update(snap, changed)
				judgement.ratings[0].Among.Update(snap, changed)
				check.Turned(func(int32) { turned++ })
			}
			if turned > 0 {
				b.Errorf("%d verdicts were turned by nodes that are as they were", turned)
			}
		})
	}
}
