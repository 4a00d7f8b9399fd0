package operators

import (
	"maps"
	"math"
	"slices"
	"strings"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Object is the fields of an object that nobody has checked. What is missing, or is something else than it should be, reads
// as its zero value.
type Object map[string]any

// Object returns the object at a path.
func (o Object) Object(path ...string) Object {
	for _, name := range path {
		o, _ = o[name].(map[string]any)
	}
	return o
}

// Items returns the objects of the list at a path.
func (o Object) Items(path ...string) (items []Object) {
	last := len(path) - 1
	list, _ := o.Object(path[:last]...)[path[last]].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		items = append(items, fields)
	}
	return items
}

// Texts returns the texts of the list at a path.
func (o Object) Texts(path ...string) (texts []string) {
	last := len(path) - 1
	list, _ := o.Object(path[:last]...)[path[last]].([]any)
	for _, item := range list {
		text, _ := item.(string)
		texts = append(texts, text)
	}
	return texts
}

// Names returns the names of the fields of an object, in order.
func Names(o Object) []string { return slices.Sorted(maps.Keys(o)) }

// Lower returns a name of a role as labels have it.
func Lower(role string) string { return strings.ToLower(role) }

// Has reports whether something is at a path.
func (o Object) Has(path ...string) bool {
	last := len(path) - 1
	return o.Object(path[:last]...)[path[last]] != nil
}

// Text returns the text at a path.
func (o Object) Text(path ...string) string {
	last := len(path) - 1
	text, _ := o.Object(path[:last]...)[path[last]].(string)
	return text
}

// True reports whether the truth value at a path is true.
func (o Object) True(path ...string) bool {
	last := len(path) - 1
	is, _ := o.Object(path[:last]...)[path[last]].(bool)
	return is
}

// Number returns the whole number at a path, from 0 on, or another one where there is none.
func (o Object) Number(otherwise int32, path ...string) int32 {
	last := len(path) - 1
	switch number := o.Object(path[:last]...)[path[last]].(type) {
	case int64:
		return clamp(number)
	case float64:
		return clamp(int64(min(number, math.MaxInt32)))
	}
	return otherwise
}

// Annotation returns an annotation of the object.
func (o Object) Annotation(name string) string { return o.Text("metadata", "annotations", name) }

// Scope returns what the object says of the scope of its gangs.
func (o Object) Scope() string { return o.Annotation(v1alpha1.AnnotationGangScope) }

func clamp(number int64) int32 { return int32(max(0, min(number, math.MaxInt32))) }

// Times multiplies what users wrote, and Sum adds it: neither wraps around.
func Times(a, b int32) int32 { return clamp(int64(a) * int64(b)) }

// Sum is the sum of two numbers.
func Sum(a, b int32) int32 { return clamp(int64(a) + int64(b)) }
