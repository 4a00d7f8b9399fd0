package predicates

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestDomainSumsAreThoseOfTheNodesThatAreThere changes nodes, their domains and their
// shares at random and compares the sums, and the changes told of, with new ones.
func TestDomainSumsAreThoseOfTheNodesThatAreThere(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := newCluster()
		sum := &domainSum[int16]{key: "zone"}
		told := map[int32]int32{} // sums by domain, as changed told of them
		last := map[int32]*cluster.Node{}
		share := func(n *cluster.Node) int16 { return int16(n.Allocatable.Pods) }
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			changeAFew(t, c, "zone")
			snap := c.Snapshot()
			sum.follow(snap)
			for _, index := range indexes(snap) {
				node := snap.Node(index)
				if node == last[index] {
					continue
				}
				last[index] = node
				if node == nil {
					sum.put(index, 0, func(d, _, after int32) { told[d] = after })
				} else {
					sum.put(index, share(node), func(d, _, after int32) { told[d] = after })
				}
			}
			sum.settle()
			want := map[int32]int32{}
			for node := range snap.Nodes() {
				if _, zoned := node.Labels["zone"]; zoned {
					want[snap.Domains("zone").Of(node.Index)] += int32(share(node))
				}
			}
			for node := range snap.Nodes() {
				domain, got := sum.at(node.Index)
				if (domain >= 0) != (node.Labels["zone"] != "") || got != want[domain] || domain >= 0 && got != told[domain] {
					t.Fatalf("%s in domain %d: sum %d, told %d, want %d", node.Name, domain, got, told[domain], want[domain])
				}
			}
		}
	})
}

// changeAFew draws some nodes, each with what it offers and with its labels of some keys, and sets or deletes them.
func changeAFew(t *rapid.T, c *cluster.Cluster, keys ...string) {
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		object := node(offering("pods", fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "share"))))
		object.Name, object.Labels = fmt.Sprint("node-", rapid.IntRange(0, 5).Draw(t, "name")), map[string]string{}
		for _, key := range keys {
			if value := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, key); value != "" {
				object.Labels[key] = value
			}
		}
		change := c.Set
		if rapid.Bool().Draw(t, "delete") {
			change = c.Delete
		}
		if err := change(object); err != nil {
			t.Fatal(err)
		}
	}
}
