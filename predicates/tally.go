package predicates

import (
	"math"
	"slices"
	"unsafe"

	"muster.dev/muster/cluster"
)

// tally is a Comparison of nodes by a number that each has for itself: the highest
// among them rates MaxScore and the others in proportion, or the other way round
// (DefaultNormalizeScore in pkg/scheduler/framework/plugins/helper).
type tally struct {
	// of is not negative. An amount above 31 bits counts as the largest one.
	of       func(node *cluster.Node) int64
	reversed bool
	// few are the nodes whose number may not be 0; nil when these may be all.
	few     func(*cluster.Snapshot) []int32
	numbers []int32 // by node index; nil while all are 0
	end     int     // of the node indexes
}

// begins implements [sparse].
func (t *tally) begins(snap *cluster.Snapshot) ([]int32, bool) {
	if t.few == nil {
		return nil, false
	}
	return t.few(snap), true
}

func (t *tally) Update(snap *cluster.Snapshot, nodes []int32) {
	t.end = snap.IndexEnd()
	if t.numbers != nil {
		t.numbers = atLeast(t.numbers, t.end)
	}
	for _, index := range nodes {
		if node := snap.Node(index); node != nil {
			t.put(node)
		}
	}
}

func (t *tally) Suppose(_ *cluster.Snapshot, node *cluster.Node) { t.put(node) }

func (t *tally) minds(*cluster.Pod) bool { return false }

func (t *tally) put(node *cluster.Node) {
	number := int32(min(t.of(node), math.MaxInt32)) //nolint:gosec // neither negative nor more
	if t.numbers == nil {
		if number == 0 {
			return
		}
		t.numbers = make([]int32, t.end)
	}
	t.numbers[node.Index] = number
}

func (t *tally) Rate(nodes, _ []int32, ratings []int64) {
	best := int64(0)
	if t.reversed {
		best = MaxScore
	}
	highest := int64(0)
	if t.numbers != nil {
		for i, index := range nodes {
			ratings[i] = int64(t.numbers[index])
			highest = max(highest, ratings[i])
		}
	}
	if highest == 0 {
		for i := range ratings {
			ratings[i] = best
		}
		return
	}
	for i := range ratings {
		ratings[i] = ratings[i] * MaxScore / highest
		if t.reversed {
			ratings[i] = MaxScore - ratings[i]
		}
	}
}

// Group implements [Comparison].
func (t *tally) Group(index int32) uint64 {
	if t.numbers == nil {
		return 0
	}
	return uint64(t.numbers[index]) //nolint:gosec // not negative
}

// size is in bytes.
func (t *tally) size() int64 { return int64(cap(t.numbers)) * int64(unsafe.Sizeof(int32(0))) }

// atLeast returns a slice by node index, grown with zeroes to that length.
func atLeast[T any](byIndex []T, length int) []T {
	if len(byIndex) >= length {
		return byIndex
	}
	return slices.Grow(byIndex, length-len(byIndex))[:length]
}
