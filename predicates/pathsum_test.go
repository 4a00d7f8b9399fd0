package predicates

import (
	"testing"

	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestSumsOfPathsAreThoseOfTheNodesThatAreThere changes nodes, their labels and what they add at random, and compares the sums with
// new ones. Numbers are kept for domains that have nodes alone.
func TestSumsOfPathsAreThoseOfTheNodesThatAreThere(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := newCluster()
		sums := &pathSums{keys: []string{"block", "rack"}, numbers: map[[2]int32]int32{}}
		last := map[int32]*cluster.Node{}
		share := func(n *cluster.Node) int16 { return int16(n.Allocatable.Pods) }
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			changeAFew(t, c, sums.keys...)
			snap := c.Snapshot()
			sums.follow(snap)
			for _, index := range indexes(snap) {
				node := snap.Node(index)
				if node == last[index] {
					continue
				}
				last[index] = node
				if node == nil {
					sums.put(index, 0)
				} else {
					sums.put(index, share(node))
				}
			}
			want := map[string]int32{} // by path
			for node := range snap.Nodes() {
				for _, path := range pathsOf(node, sums.keys) {
					want[path] += int32(share(node))
				}
			}
			for node := range snap.Nodes() {
				got := sums.of(node.Index)
				for level, path := range pathsOf(node, sums.keys) {
					if got[level] != want[path] {
						t.Fatalf("%s: %d in %s, want %d", node.Name, got[level], path, want[path])
					}
				}
				if path := pathsOf(node, sums.keys); got != [pathLevels]int32{} && len(path) == 0 {
					t.Fatalf("%s is in no domain, and has the sums %d", node.Name, got)
				}
			}
			if len(sums.numbers) != len(want) || len(sums.domains) != len(sums.unused)+len(want) {
				t.Fatalf("%d of %d numbers are given, and %d unused; there are %d domains",
					len(sums.numbers), len(sums.domains), len(sums.unused), len(want))
			}
		}
	})
}

// pathsOf returns the paths of the domains that a node is in, the uppermost first.
func pathsOf(node *cluster.Node, keys []string) (paths []string) {
	path := ""
	for _, key := range keys {
		value, labelled := node.Labels[key]
		if !labelled {
			break
		}
		path += "/" + value
		paths = append(paths, path)
	}
	return paths
}
