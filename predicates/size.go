package predicates

import "reflect"

// prepared returns the bytes that the pod and the plugins' preparations for it take, except the digests that
// grow with the cluster; see size. Checks are closures that nobody can look into: of their varying parts, they
// keep the parsed node affinity.
func (j *Judgement) prepared() int64 {
	const perPlugin = 64 // a closure
	plugins := int64(len(j.checks) + len(j.ratings))
	prepared := size(reflect.TypeFor[Judgement]()) + plugins*(size(reflect.TypeFor[Rating]())+perPlugin)
	if affinity := j.pod.Spec.Affinity; affinity != nil {
		prepared += sizeOf(reflect.ValueOf(affinity.NodeAffinity))
	}
	return prepared + sizeOf(reflect.ValueOf(j.pod))
}

// sizeOf returns how many bytes a value refers to, at any depth. A part that is referred to twice counts twice,
// and a value that refers to itself has no size.
func sizeOf(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return size(v.Type().Elem()) + sizeOf(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return size(v.Elem().Type()) + sizeOf(v.Elem())
	case reflect.Slice:
		total := int64(v.Cap()) * size(v.Type().Elem())
		for i := range v.Len() {
			total += sizeOf(v.Index(i))
		}
		return total
	case reflect.Map:
		return sizeOfMap(v)
	case reflect.Struct:
		var total int64
		for _, field := range v.Fields() {
			total += sizeOf(field)
		}
		return total
	default:
		return 0
	}
}

// sizeOfMap reckons with a table that is half full.
func sizeOfMap(v reflect.Value) int64 {
	const header, group = 48, 8
	switch {
	case v.IsNil():
		return 0
	case v.Len() == 0:
		return header
	}
	slot := size(v.Type().Key()) + size(v.Type().Elem()) + 1
	total := header + int64(max(group, 2*v.Len()))*slot
	for entries := v.MapRange(); entries.Next(); {
		total += sizeOf(entries.Key()) + sizeOf(entries.Value())
	}
	return total
}

func size(t reflect.Type) int64 { return int64(t.Size()) } //nolint:gosec // of a type that exists
