package strict

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Pruned is a field that was taken out of a document, and what it held.
type Pruned struct {
	Path  *field.Path
	Value any
}

// Prune takes the fields out of a JSON document that are unknown to the type of what into points
// to, at any depth. It is for documents that others wrote for programs of their own. What is of
// the wrong type stays, for [Decode] to report.
func Prune(path *field.Path, document []byte, into any) (known []byte, unknown []Pruned, err error) {
	var value any
	if err := decodeExact(document, &value); err != nil {
		return nil, nil, err
	}
	unknown = prune(path, value, reflect.TypeOf(into).Elem())
	known, err = json.Marshal(value)
	return known, unknown, err
}

// prune walks a JSON value alongside the type that it is meant for, as misfits does.
func prune(path *field.Path, value any, t reflect.Type) []Pruned {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if decodesItself(t) {
		return nil
	}
	switch value := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			return pruneList(path, value, t.Elem())
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return pruneObject(path, value, t)
		case reflect.Map:
			return pruneMap(path, value, t.Elem())
		}
	}
	return nil
}

func pruneList(path *field.Path, list []any, of reflect.Type) []Pruned {
	var unknown []Pruned
	for i, element := range list {
		unknown = append(unknown, prune(path.Index(i), element, of)...)
	}
	return unknown
}

func pruneMap(path *field.Path, object map[string]any, of reflect.Type) []Pruned {
	var unknown []Pruned
	for _, key := range slices.Sorted(maps.Keys(object)) {
		unknown = append(unknown, prune(path.Key(key), object[key], of)...)
	}
	return unknown
}

func pruneObject(path *field.Path, object map[string]any, t reflect.Type) []Pruned {
	known, _ := fieldsOf(t)
	var unknown []Pruned
	for _, name := range slices.Sorted(maps.Keys(object)) {
		fieldType, ok := known[name]
		if !ok {
			unknown = append(unknown, Pruned{path.Child(name), object[name]})
			delete(object, name)
			continue
		}
		unknown = append(unknown, prune(path.Child(name), object[name], fieldType)...)
	}
	return unknown
}
