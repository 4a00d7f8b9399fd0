// Package strict decodes documents that people wrote. Nothing in them may be unknown,
// repeated or of the wrong type, and all that is wrong is reported at once, with its place.
package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/spelling"
)

// Decode decodes a JSON document on top of what into points to. It leaves into
// alone and reports every misfit when some part of the document does not fit its type;
// the standard decoder would stop at the first, without its path.
func Decode(path *field.Path, document []byte, into any) field.ErrorList {
	var value any
	if err := decodeExact(document, &value); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if errs := misfits(path, value, reflect.TypeOf(into).Elem()); len(errs) > 0 {
		return errs
	}
	if err := decodeExact(document, into); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	return nil
}

// decodeExact keeps the digits of numbers that are decoded into any.
func decodeExact(document []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// misfits walks a JSON value alongside the type that it is meant for and returns
// every unknown field and every value of the wrong type. Null leaves the default of a
// field, except where a type such as metav1.Duration decodes itself and refuses it.
func misfits(path *field.Path, value any, t reflect.Type) field.ErrorList {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := writtenAs(t)
	if value == nil && kind != reflect.Invalid {
		return nil
	}
	switch kind {
	case reflect.Interface:
		return nil
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			break
		}
		return structMisfits(path, object, t)
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			break
		}
		var errs field.ErrorList
		for i, element := range list {
			errs = append(errs, misfits(path.Index(i), element, t.Elem())...)
		}
		return errs
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			break
		}
		var errs field.ErrorList
		for _, key := range slices.Sorted(maps.Keys(object)) {
			errs = append(errs, misfits(path.Key(key), object[key], t.Elem())...)
		}
		return errs
	default:
		if fits(value, t) {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(path, value, "must be "+describe(t))}
}

// writtenAs returns the kind of the values that a type is written as, Invalid when it decodes itself.
func writtenAs(t reflect.Type) reflect.Kind {
	switch {
	case decodesItself(t):
		return reflect.Invalid
	case isBytes(t):
		return reflect.String
	default:
		return t.Kind()
	}
}

// isBytes reports whether values of a type are written as text in base64.
func isBytes(t reflect.Type) bool { return t == reflect.TypeFor[[]byte]() }

func structMisfits(path *field.Path, object map[string]any, t reflect.Type) field.ErrorList {
	known, names := fieldsOf(t)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		fieldType, ok := known[name]
		if !ok {
			errs = append(errs, field.Invalid(path.Child(name), object[name],
				"unknown field, "+spelling.DidYouMean(name, names)+"known here are "+strings.Join(names, ", ")))
			continue
		}
		errs = append(errs, misfits(path.Child(name), object[name], fieldType)...)
	}
	return errs
}

// fieldsOf returns the types of the fields of a struct by their names in JSON, and these in order.
func fieldsOf(t reflect.Type) (types map[string]reflect.Type, names []string) {
	types = map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			types[name] = f.Type
			names = append(names, name)
		}
	}
	return types, names
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func fits(value any, t reflect.Type) bool {
	data, err := json.Marshal(value)
	return err == nil && json.Unmarshal(data, reflect.New(t).Interface()) == nil
}

func describe(t reflect.Type) string {
	if t == reflect.TypeFor[metav1.Duration]() {
		return `a duration such as "5s" or "1m30s"`
	}
	if isBytes(t) {
		return "bytes in base64"
	}
	if of, ok := reflect.TypeAssert[interface{ Values() []string }](reflect.Zero(t)); ok {
		return "one of " + strings.Join(of.Values(), ", ")
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32, reflect.Int64:
		return fmt.Sprintf("an integer of %d bits", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a " + t.String()
	}
}
