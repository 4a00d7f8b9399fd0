package predicates

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestSomethingIsPresentWhereANodeOfTheDomainHasIt changes nodes and their domains at random, supposes one to
// be otherwise, and compares what is present with a look at all nodes. A caller that asks again about the nodes
// that changed, and where it is noted, knows all.
func TestSomethingIsPresentWhereANodeOfTheDomainHasIt(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := newCluster()
		var all presences
		var noted reach
		p := all.of("zone", c.Snapshot())
		nodes, known := map[int32]*cluster.Node{}, map[int32]bool{} // by index
		put := func(index int32, node *cluster.Node) {
			p.found = node != nil && node.Spec.Unschedulable
			p.put(index, &noted)
			nodes[index] = node
		}
		check := func(when string, changed ...int32) {
			p.settle(&noted)
			ask := func(index int32) { _, known[index] = p.at(index) }
			for _, index := range changed {
				ask(index)
			}
			noted.Turned(ask)
			zones := map[string]bool{}
			for _, node := range nodes {
				if node != nil && node.Spec.Unschedulable && node.Labels["zone"] != "" {
					zones[node.Labels["zone"]] = true
				}
			}
			if p.present != len(zones) {
				t.Fatalf("%s it is in %d domains, want %v", when, p.present, zones)
			}
			for index, node := range nodes {
				if node != nil && known[index] != zones[node.Labels["zone"]] {
					t.Fatalf("%s it is in zone %q: %v", when, node.Labels["zone"], known[index])
				}
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				object := node(called(fmt.Sprint("node-", rapid.IntRange(0, 5).Draw(t, "name"))), func(n *corev1.Node) {
					n.Spec.Unschedulable = rapid.Bool().Draw(t, "has it")
				})
				if zone := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone"); zone != "" {
					labelled("zone", zone)(object)
				}
				change := c.Set
				if rapid.Bool().Draw(t, "delete") {
					change = c.Delete
				}
				if err := change(object); err != nil {
					t.Fatal(err)
				}
			}
			snap := c.Snapshot()
			noted.end = int32(snap.IndexEnd())
			p.follow(snap)
			var changed []int32
			for _, index := range indexes(snap) {
				if node := snap.Node(index); node != nodes[index] {
					put(index, node)
					changed = append(changed, index)
				}
			}
			check("after the changes", changed...)
			for node := range snap.Nodes() {
				if !rapid.Bool().Draw(t, "suppose") {
					continue
				}
				other := *node
				other.Node = node.DeepCopy()
				other.Spec.Unschedulable = !node.Spec.Unschedulable
				put(node.Index, &other)
				check("supposed that " + node.Name + " is otherwise")
				put(node.Index, node)
				check("supposed that " + node.Name + " is as it is")
			}
		}
	})
}
