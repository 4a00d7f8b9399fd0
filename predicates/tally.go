package predicates

import (
	"slices"

	"muster.dev/muster/cluster"
)

// tally is a Comparison of nodes by a number that each has for itself: the highest
// among them rates MaxScore and the others in proportion, or the other way round
// (DefaultNormalizeScore in pkg/scheduler/framework/plugins/helper).
type tally struct {
	of       func(node *cluster.Node) int64
	reversed bool
	numbers  []int64 // by node index
}

func (t *tally) Update(snap *cluster.Snapshot, nodes []int32) {
	t.numbers = atLeast(t.numbers, snap.IndexEnd())
	for _, index := range nodes {
		if node := snap.Node(index); node != nil {
			t.numbers[index] = t.of(node)
		}
	}
}

func (t *tally) Suppose(node *cluster.Node) { t.numbers[node.Index] = t.of(node) }

func (t *tally) Rate(nodes []int32, ratings []int64) {
	highest := int64(0)
	for i, index := range nodes {
		ratings[i] = t.numbers[index]
		highest = max(highest, ratings[i])
	}
	for i := range nodes {
		if highest > 0 {
			ratings[i] = ratings[i] * MaxScore / highest
		}
		if t.reversed {
			ratings[i] = MaxScore - ratings[i]
		}
	}
}

// atLeast is a slice by node index, grown with zeroes to that length.
func atLeast[T any](byIndex []T, length int) []T {
	if len(byIndex) >= length {
		return byIndex
	}
	return slices.Grow(byIndex, length-len(byIndex))[:length]
}
