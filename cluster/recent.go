package cluster

// recent is a map that forgets: it keeps the entries that were put last, between half of most and most of them.
type recent[K comparable, V any] struct {
	most        int
	now, before map[K]V
}

func (r *recent[K, V]) get(key K) (V, bool) {
	if value, kept := r.now[key]; kept {
		return value, true
	}
	value, kept := r.before[key]
	return value, kept
}

func (r *recent[K, V]) put(key K, value V) {
	if r.now == nil || len(r.now) >= r.most/2 {
		r.now, r.before = map[K]V{}, r.now
	}
	r.now[key] = value
}
