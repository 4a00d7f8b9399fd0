package racks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/placement/topology"
)

// units returns a cluster of racks with nodes of a number of GPUs, each list one rack of one block.
func units(blocks ...[][]int64) *world {
	w := &world{}
	for block, racks := range blocks {
		for _, rack := range racks {
			nodes := make([]int64, len(rack))
			for i, has := range rack {
				nodes[i] = has * wholeGPU
			}
			w.add(block, nodes...)
		}
	}
	return w
}

// use has GPUs of nodes be in use.
func (w *world) use(gpus int64, nodes ...int32) *world {
	for _, n := range nodes {
		w.put(&job{pods: 1, gpu: gpus * wholeGPU}, []topology.Share{{Node: n, Pods: 1}}, 1)
	}
	return w
}

// repeated returns a number of nodes that have the same.
func repeated(has int64, nodes int) (all []int64) {
	for range nodes {
		all = append(all, has)
	}
	return all
}

// TestRulesOfPeersByTheirDocumentedCases walks examples that projects give in their documentation and tests. Pods ask for one GPU
// unless it is said; want is how many of them each node has, nil for no place.
func TestRulesOfPeersByTheirDocumentedCases(t *testing.T) {
	for _, test := range []struct {
		name string
		of   *world
		pods int
		step int // pods of a slice on one node, 0 for 1
		rule func(t *tree) []topology.Share
		want []int
	}{
		{
			name: "Kueue BestFit: the last node is the one that fits", of: units([][]int64{{3, 3, 2, 1}}), pods: 7,
			rule: func(t *tree) []topology.Share { return bestFit(t, 7, levelRack) }, want: []int{3, 3, 0, 1},
		},
		{
			name: "Kueue LeastFreeCapacity: small rests first", of: units([][]int64{{3, 3, 2, 1}}), pods: 7,
			rule: func(t *tree) []topology.Share { return leastFreeCapacity(t, 7) }, want: []int{3, 1, 2, 1},
		},
		{
			name: "Kueue BestFit with slices of two on a node", of: units([][]int64{{6, 5, 4, 3, 2}}), pods: 12, step: 2,
			rule: func(t *tree) []topology.Share { return bestFit(t, 12, levelRack) }, want: []int{6, 0, 4, 0, 2},
		},
		{
			name: "Kueue LeastFreeCapacity with slices of two on a node", of: units([][]int64{{6, 5, 4, 3, 2}}), pods: 10, step: 2,
			rule: func(t *tree) []topology.Share { return leastFreeCapacity(t, 10) }, want: []int{0, 2, 4, 2, 2},
		},
		{
			name: "Kueue BestFit: one block, half in each rack",
			of:   units([][]int64{repeated(8, 4), repeated(8, 4)}, [][]int64{repeated(8, 4), repeated(8, 4)}), pods: 64,
			rule: func(t *tree) []topology.Share { return bestFit(t, 64, levelBlock) },
			want: []int{8, 8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0},
		},
		{
			name: "Kueue BestFit: what one node takes is on one node", of: units([][]int64{{20, 10}, {15, 15}}), pods: 20,
			rule: func(t *tree) []topology.Share { return bestFit(t, 20, levelRack) }, want: []int{20, 0, 0, 0},
		},
		{
			name: "Kueue BestFit: the block that has both", of: units([][]int64{{15}}, [][]int64{{15}}, [][]int64{{15, 15}}), pods: 25, step: 5,
			rule: func(t *tree) []topology.Share { return bestFit(t, 25, levelBlock) }, want: []int{0, 0, 15, 10},
		},
		{
			name: "KAI: the zone with the least room, and its largest rack first",
			of:   units([][]int64{{1, 1}, {1}, {1}, {1}}, [][]int64{{1, 1}, {1, 1}, {1, 1}}), pods: 3,
			rule: func(t *tree) []topology.Share { return tightestThenFullest(t, 3, levelBlock) },
			want: []int{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		},
		{
			name: "Volcano: a single pod goes beside others in its quad",
			of:   units([][]int64{{1, 1}, {1, 1}}, [][]int64{{1, 1}, {1, 1}}).use(1, 0, 2, 4), pods: 1,
			rule: hyperNodes, want: []int{0, 1, 0, 0, 0, 0, 0, 0},
		},
		{
			name: "Volcano: and so does the next one",
			of:   units([][]int64{{1, 1}, {1, 1}}, [][]int64{{1, 1}, {1, 1}}).use(1, 0, 1, 2, 4), pods: 1,
			rule: hyperNodes, want: []int{0, 0, 0, 1, 0, 0, 0, 0},
		},
		{
			name: "Volcano: eight do not fit in a hard tier of four", of: units([][]int64{repeated(1, 4), repeated(1, 3)}), pods: 8,
			rule: func(t *tree) []topology.Share { return fullestDomain(t, 8, levelRack) },
		},
		{
			name: "Volcano: the four that have to be there do", of: units([][]int64{repeated(1, 3), repeated(1, 4)}), pods: 4,
			rule: func(t *tree) []topology.Share { return fullestDomain(t, 4, levelRack) }, want: []int{0, 0, 0, 1, 1, 1, 1},
		},
		{
			name: "native: the rack that is used most then", of: units([][]int64{{2, 2, 2}, {2, 2, 2}}).use(2, 4), pods: 2,
			rule: func(t *tree) []topology.Share { return fullestDomain(t, 2, levelRack) }, want: []int{0, 0, 0, 2, 0, 0},
		},
		{
			name: "MostAllocated: the fullest node, in whatever rack", of: units([][]int64{{4, 4}, {4, 4}}).use(1, 0, 1, 3).use(1, 3), pods: 1,
			rule: fullestNode, want: []int{0, 0, 0, 1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []int
			for _, share := range test.rule(newTree(test.of, &job{pods: test.pods, gpu: wholeGPU}, max(1, test.step))) {
				if got == nil {
					got = make([]int, len(test.of.nodes))
				}
				got[share.Node] += share.Pods
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
