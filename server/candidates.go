package server

import (
	"bytes"

	"muster.dev/muster/cluster"
)

// candidates are the nodes that a request names, as indexes into a snapshot. It
// receives the names while they are read; see [wire.Names].
//
// kube-scheduler walks over its nodes with several workers, each along a part of one
// order that is known ([cluster.NodeNames.At]). So the names are a few streams,
// interleaved, and the next name is mostly the successor of one of the last few:
// finding that confirmed is a comparison of bytes in place, far cheaper than a look-up.
type candidates struct {
	names *cluster.NodeNames
	// indexes of the nodes, in the order of the request. That of an unknown node is
	// -1-i for its name unknown[i].
	indexes []int32
	unknown [][]byte
	// expected are the positions at which the streams go on, the one that went on
	// last first.
	expected [8]int32
}

// reset prepares for a request about nodes of those names.
func (k *candidates) reset(names *cluster.NodeNames) {
	k.names, k.indexes, k.unknown = names, k.indexes[:0], k.unknown[:0]
	k.expected = [8]int32{}
}

// Known implements [wire.Names].
func (k *candidates) Known(text []byte) int {
	if k.names.Len() == 0 || len(text) == 0 || text[0] != '"' {
		return 0
	}
	for stream, position := range k.expected {
		if index, quoted := k.names.At(position); bytes.HasPrefix(text, quoted) {
			k.indexes = append(k.indexes, index)
			k.expect(stream, position)
			return len(quoted)
		}
	}
	end := bytes.IndexByte(text[1:], '"')
	if end < 0 || bytes.IndexByte(text[1:1+end], '\\') >= 0 {
		return 0
	}
	index := k.names.Index(text[1 : 1+end])
	if index < 0 {
		return 0
	}
	k.take(index)
	return end + 2
}

// Name implements [wire.Names].
func (k *candidates) Name(name []byte) {
	index := k.names.Index(name)
	if index < 0 {
		k.unknown = append(k.unknown, name)
		k.indexes = append(k.indexes, int32(-len(k.unknown))) //nolint:gosec // bounded by the size of a body
		return
	}
	k.take(index)
}

// take notes a node that no stream led to: a stream begins, in place of the one that
// went on least recently.
func (k *candidates) take(index int32) {
	k.indexes = append(k.indexes, index)
	k.expect(len(k.expected)-1, k.names.Position(index))
}

// expect notes that a stream has come to a position.
func (k *candidates) expect(stream int, position int32) {
	copy(k.expected[1:stream+1], k.expected[:stream])
	if k.expected[0] = position + 1; int(k.expected[0]) == k.names.Len() {
		k.expected[0] = 0
	}
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
	k.reset(snap.NodeNames)
	for _, index := range before.indexes {
		k.Name(before.name(index))
	}
	return k.indexes
}
