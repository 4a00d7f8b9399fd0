package server

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/cluster"
)

// Nodes come and go, and requests name them in any order, several times, or name
// nodes that are not there: the remembered order never changes an answer.
func TestCandidatesAreThoseThatALookUpFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
		name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("node-%d", rapid.IntRange(0, 80).Draw(t, "node")) })
		node := rapid.Custom(func(t *rapid.T) *corev1.Node {
			node := &corev1.Node{}
			node.Name = name.Draw(t, "name")
			return node
		})
		var k candidates
		var request [][]byte
		t.Repeat(map[string]func(*rapid.T){
			"nodes appear": func(t *rapid.T) {
				for _, node := range rapid.SliceOfN(node, 1, 70).Draw(t, "nodes") {
					if err := c.Set(node); err != nil {
						t.Fatal(err)
					}
				}
			},
			"nodes vanish": func(t *rapid.T) {
				for _, node := range rapid.SliceOfN(node, 1, 20).Draw(t, "nodes") {
					if err := c.Delete(node); err != nil {
						t.Fatal(err)
					}
				}
			},
			"the request is another one": func(t *rapid.T) {
				request = request[:0]
				for _, name := range rapid.SliceOf(name).Draw(t, "names") {
					request = append(request, []byte(name))
				}
			},
			"a request is resolved": func(t *rapid.T) {
				snap := c.Snapshot()
				var want []*cluster.Node
				for _, name := range request {
					want = append(want, snap.NodeByName(string(name)))
				}
				if got := k.resolve(snap, request); !slices.Equal(want, got) {
					t.Fatalf("a look-up (-) and resolve (+) differ:\n%s", cmp.Diff(names(want), names(got)))
				}
			},
		})
	})
}

// names are for people: two states of one node look the same.
func names(nodes []*cluster.Node) []string {
	var names []string
	for _, node := range nodes {
		if node == nil {
			names = append(names, "unknown")
			continue
		}
		names = append(names, node.Name)
	}
	return names
}
