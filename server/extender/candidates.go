package extender

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/cluster"
)

// candidates are the nodes that a request names, as indexes into a snapshot.
type candidates struct {
	names *cluster.NodeNames
	// indexes of the nodes, in the order of the request. That of an unknown node is
	// -1-i for its name unknown[i]. Few of those are kept: kube-scheduler takes a node that
	// is not in an answer for one that does not fit.
	indexes []int32
	unknown [][]byte
}

// reading receives the names of candidates while they are read; see [wire.Names]. The candidates are valid until it
// reads others.
type reading struct {
	candidates
	order *order
	// named counts the names of the request, and most is how many it may have.
	named, most int
	// last are the nodes that streams have come to, the most recent one first; see
	// order.
	last [streams]int32
}

// order remembers from requests in which order they name nodes.
//
// kube-scheduler walks over its nodes in one order, which is not known here, with several workers that each
// follow a part of it. So the names are a few streams, interleaved, and the next one is mostly the successor of
// one of the last few. To find that confirmed is a comparison of bytes in place, far cheaper than a look-up.
// The learned order is only ever a guess: a wrong one costs time, never an answer.
type order struct {
	after []successor // by index
	turn  int
}

const streams = 4

const (
	// keptUnknown is how many nodes that are not known are answered about.
	keptUnknown = 100
	// spareNames is how many names a request may have beyond twice the nodes that are known.
	spareNames = 1000
)

// successor is the node that was seen to follow a node, and how often it was lately.
type successor struct {
	index int32
	sure  uint8
}

// verySure is how often a successor may fail to come before it is given up.
const verySure = 3

// reset prepares for reading a request about nodes of those names.
func (k *reading) reset(names *cluster.NodeNames, o *order) {
	k.names, k.order, k.indexes, k.unknown = names, o, k.indexes[:0], k.unknown[:0]
	k.last, k.named, k.most = [streams]int32{}, 0, 2*names.Len()+spareNames
	o.after = append(o.after, make([]successor, max(names.End()-len(o.after), 0))...)
}

// Known implements [wire.Names].
func (k *reading) Known(text []byte) int {
	if k.names.Len() == 0 || len(text) == 0 || text[0] != '"' || k.named == k.most {
		return 0
	}
	for stream, last := range k.last {
		next := &k.order.after[last]
		if quoted := k.names.Quoted(next.index); len(quoted) > 0 && bytes.HasPrefix(text, quoted) {
			next.sure = min(next.sure+1, verySure)
			k.named++
			k.indexes = append(k.indexes, next.index)
			k.goOn(stream, next.index)
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
	k.named++
	k.learn(index)
	return end + 2
}

// Name implements [wire.Names].
func (k *reading) Name(name []byte) (taken bool, err error) {
	if k.named == k.most {
		return false, fmt.Errorf("there are more than %d of them, and %d nodes are known", k.most, k.names.Len())
	}
	k.named++
	switch index := k.names.Index(name); {
	case index >= 0:
		k.learn(index)
	case len(k.unknown) == keptUnknown || len(name) > bounded.MaxName || !utf8.Valid(name):
		return false, nil
	default:
		k.addUnknown(name)
	}
	return true, nil
}

func (k *candidates) addUnknown(name []byte) {
	k.unknown = append(k.unknown, name)
	k.indexes = append(k.indexes, int32(-len(k.unknown))) //nolint:gosec // bounded by the size of a body
}

// learn takes a node that nothing led to. It may follow any of the last few; which
// one is tried in turn, the most recent one every other time.
func (k *reading) learn(index int32) {
	k.indexes = append(k.indexes, index)
	o := k.order
	o.turn++
	stream := 0
	if o.turn%2 == 0 {
		stream = o.turn / 2 % streams
	}
	if before := &o.after[k.last[stream]]; before.sure > 0 {
		before.sure--
	} else {
		before.index = index
	}
	k.goOn(streams-1, index)
}

// goOn notes that a stream has come to a node.
func (k *reading) goOn(stream int, index int32) {
	copy(k.last[1:stream+1], k.last[:stream])
	k.last[0] = index
}

// name returns the name of a candidate, by what stands for it in indexes.
func (k *candidates) name(index int32) []byte {
	if index < 0 {
		return k.unknown[-1-index]
	}
	return []byte(k.names.Name(index))
}

// quoted returns the name of a candidate as a JSON string, in the memory of the writer if the
// node is not known.
func (k *candidates) quoted(index int32, unknown *jx.Writer) []byte {
	if index >= 0 {
		return k.names.Quoted(index)
	}
	unknown.Reset()
	unknown.ByteStr(k.unknown[-1-index])
	return unknown.Buf
}

// in returns the candidates in a snapshot, which may be a newer one than that they were read with.
func (k *candidates) in(snap *cluster.Snapshot) candidates {
	if k.names == snap.NodeNames {
		return *k
	}
	now := candidates{names: snap.NodeNames}
	for _, index := range k.indexes {
		name := k.name(index)
		if known := now.names.Index(name); known >= 0 {
			now.indexes = append(now.indexes, known)
		} else {
			now.addUnknown(name)
		}
	}
	return now
}
