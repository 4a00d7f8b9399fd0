package predicates

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestTheEmptiestDomainIsThatOfTheNodesThatCount changes nodes, their domains and what
// they add at random, and compares with what all nodes say together.
func TestTheEmptiestDomainIsThatOfTheNodesThatCount(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := newCluster()
		domains := spreadDomains{key: "zone"}
		told := map[int32]int32{} // pods by domain, as changed told of them
		tell := func(domain, before, after int32) {
			if before != told[domain] || before == after {
				t.Fatalf("told of a change from %d to %d, after %d", before, after, told[domain])
			}
			told[domain] = after
		}
		// A cordoned node does not count; the pods of the others are how much CPU they have.
		share := func(n *cluster.Node) spreadShare {
			if n == nil || n.Spec.Unschedulable || n.Labels["zone"] == "" {
				return 0
			}
			return shareOf(int16(n.Allocatable.MilliCPU))
		}
		last := map[int32]*cluster.Node{}
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				object := node(
					called(fmt.Sprint("node-", rapid.IntRange(0, 5).Draw(t, "name"))),
					offering("cpu", fmt.Sprintf("%dm", rapid.IntRange(0, 3).Draw(t, "pods"))),
				)
				if zone := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone"); zone != "" {
					labelled("zone", zone)(object)
				}
				object.Spec.Unschedulable = rapid.Bool().Draw(t, "cordoned")
				change := c.Set
				if rapid.Bool().Draw(t, "delete") {
					change = c.Delete
				}
				if err := change(object); err != nil {
					t.Fatal(err)
				}
			}
			snap := c.Snapshot()
			domains.follow(snap)
			for _, index := range indexes(snap) {
				if node := snap.Node(index); node != last[index] {
					last[index] = node
					domains.put(index, share(node), tell)
				}
			}
			domains.settle()

			pods, fewest := map[string]int32{}, int32(math.MaxInt32)
			for node := range snap.Nodes() {
				if share := share(node); share > 0 {
					pods[node.Labels["zone"]] += share.pods()
				}
			}
			for _, n := range pods {
				fewest = min(fewest, n)
			}
			for node := range snap.Nodes() {
				if domain := snap.Domains("zone").
					Of(node.Index); domain >= 0 &&
					(domains.pods[domain] != pods[node.Labels["zone"]] || told[domain] != domains.pods[domain]) {
					t.Fatalf("zone %s has %d pods, told %d, want %d", node.Labels["zone"], domains.pods[domain], told[domain], pods[node.Labels["zone"]])
				}
			}
			there := int32(len(pods))
			if got := domains.minimum(there); got != fewest {
				t.Fatalf("of the domains %v the fewest are %d", pods, got)
			}
			if got := domains.minimum(there + 1); got != 0 {
				t.Fatalf("with too few domains the minimum is %d", got)
			}
		}
	})
}
