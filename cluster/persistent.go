package cluster

import (
	"hash/maphash"
	"iter"
	"maps"
)

// Table is an immutable map. Its writer makes the next one from it at the cost
// of the shards that changed.
type Table[K comparable, V any] struct {
	shards *[shardCount]map[K]V
	size   int
	seed   maphash.Seed
}

const shardCount = 256

// Get returns the value of a key, and false if there is none.
func (t Table[K, V]) Get(key K) (V, bool) {
	if t.shards == nil {
		var none V
		return none, false
	}
	v, ok := t.shards[shardOf(t.seed, key)][key]
	return v, ok
}

// Len returns the number of keys.
func (t Table[K, V]) Len() int { return t.size }

// All walks over the table in no order.
func (t Table[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.shards == nil {
			return
		}
		for _, shard := range t.shards {
			for k, v := range shard {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

func shardOf[K comparable](seed maphash.Seed, key K) uint8 {
	return uint8(maphash.Comparable(seed, key)) //nolint:gosec // the low byte is the shard
}

// tableWriter is the changing side of a Table. Between two calls of publish it
// changes its own copies in place.
type tableWriter[K comparable, V any] struct {
	seed   maphash.Seed
	shards [shardCount]map[K]V
	owned  [shardCount]bool // shards that no published Table shares
	size   int
	last   Table[K, V]
	dirty  bool
}

func newTableWriter[K comparable, V any]() *tableWriter[K, V] {
	seed := maphash.MakeSeed()
	return &tableWriter[K, V]{seed: seed, last: Table[K, V]{seed: seed}}
}

func (w *tableWriter[K, V]) get(key K) (V, bool) {
	v, ok := w.shards[shardOf(w.seed, key)][key]
	return v, ok
}

func (w *tableWriter[K, V]) set(key K, value V) {
	shard := w.own(key)
	before := len(shard)
	shard[key] = value
	w.size += len(shard) - before
}

func (w *tableWriter[K, V]) remove(key K) {
	shard := w.own(key)
	before := len(shard)
	delete(shard, key)
	w.size += len(shard) - before
}

func (w *tableWriter[K, V]) own(key K) map[K]V {
	i := shardOf(w.seed, key)
	if !w.owned[i] {
		w.shards[i] = maps.Clone(w.shards[i])
		if w.shards[i] == nil {
			w.shards[i] = map[K]V{}
		}
		w.owned[i], w.dirty = true, true
	}
	return w.shards[i]
}

func (w *tableWriter[K, V]) publish() Table[K, V] {
	if w.dirty {
		shards := w.shards
		w.last = Table[K, V]{shards: &shards, size: w.size, seed: w.seed}
		w.owned, w.dirty = [shardCount]bool{}, false
	}
	return w.last
}
