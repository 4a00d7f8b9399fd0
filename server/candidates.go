package server

import "muster.dev/muster/cluster"

// candidates are the nodes that a request names, as indexes into a snapshot. It
// receives the names while they are read and guesses each from what came after its
// predecessor in earlier requests; see [wire.Names]. The memory of the order is a
// guess only: a wrong one costs time, never an answer.
type candidates struct {
	names *cluster.NodeNames
	// indexes of the nodes, in the order of the request. That of an unknown node is
	// -1-i for its name unknown[i].
	indexes []int32
	unknown [][]byte

	after    []int32 // after[i+1] came after index i, after[0] came first
	previous int32
}

// reset prepares for a request about nodes of those names.
func (k *candidates) reset(names *cluster.NodeNames, end int) {
	k.names, k.indexes, k.unknown, k.previous = names, k.indexes[:0], k.unknown[:0], -1
	if missing := end + 1 - len(k.after); missing > 0 {
		k.after = append(k.after, make([]int32, missing)...)
	}
}

// Guess implements [wire.Names].
func (k *candidates) Guess() []byte { return k.names.Quoted(k.after[k.previous+1]) }

// Guessed implements [wire.Names].
func (k *candidates) Guessed() {
	k.previous = k.after[k.previous+1]
	k.indexes = append(k.indexes, k.previous)
}

// Name implements [wire.Names].
func (k *candidates) Name(name []byte) {
	index := k.names.Index(name)
	if index < 0 {
		k.unknown = append(k.unknown, name)
		k.indexes = append(k.indexes, int32(-len(k.unknown))) //nolint:gosec // bounded by the size of a body
		return
	}
	k.after[k.previous+1] = index
	k.previous = index
	k.indexes = append(k.indexes, index)
}

// name is the name of a candidate, by what stands for it in indexes.
func (k *candidates) name(index int32) []byte {
	if index < 0 {
		return k.unknown[-1-index]
	}
	return []byte(k.names.Name(index))
}

// in returns the indexes of the candidates in a snapshot, which may be a newer one
// than that they were read with. The slice is valid until the next reset.
func (k *candidates) in(snap *cluster.Snapshot) []int32 {
	if k.names == snap.NodeNames {
		return k.indexes
	}
	before := *k
	k.indexes, k.unknown = nil, nil
	k.reset(snap.NodeNames, snap.IndexEnd())
	for _, index := range before.indexes {
		k.Name(before.name(index))
	}
	return k.indexes
}
