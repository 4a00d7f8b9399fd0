package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-faster/jx"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object puts one object of a dump into the view, or on the list of those that
// do not belong there. It is of the default kind if it names none.
func (l *loader) object(data []byte, kind metav1.TypeMeta) error {
	if own := typeOf(data); own.Kind != "" {
		kind = own
	}
	if kind.Kind == "" {
		return errors.New("kind: it is missing")
	}
	if custom := l.custom[kind]; custom != nil {
		return l.customObject(data, custom)
	}
	reads, known := l.kinds[kind]
	if !known {
		l.loaded.Skipped[kind.Kind]++
		return nil
	}
	object := reflect.New(reads.object).Interface().(apiObject)
	if err := utiljson.Unmarshal(data, object); err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, nameOf(data), explain(data, reads.object, err))
	}
	if object.GetName() == "" {
		return fmt.Errorf("%s: metadata.name: it is missing", kind.Kind)
	}
	if reads.namespaced && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(kind.Kind + "/" + key(object).String()))
	}
	if pod, ok := object.(*corev1.Pod); ok && finished(pod) {
		l.loaded.Skipped["finished "+kind.Kind]++
		return nil
	}
	if _, err := Trim(object); err != nil {
		return err
	}
	l.loaded.Objects[reads.resource]++
	return l.cluster.Set(object)
}

// customObject gives an object to who takes its kind.
func (l *loader) customObject(data []byte, kind *CustomKind) error {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &object.Object); err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind.Kind, nameOf(data), err)
	}
	object.SetGroupVersionKind(kind.Kind)
	if object.GetName() == "" {
		return fmt.Errorf("%s: metadata.name: it is missing", kind.Kind.Kind)
	}
	trimmed, err := kind.Handler.Trim(object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind.Kind, object.GetName(), err)
	}
	l.loaded.Objects[kind.Resource.Resource]++
	kind.Handler.Set(trimmed.(metav1.Object))
	return nil
}

// typeOf is what an object says that it is. It reads no further than it must.
func typeOf(data []byte) metav1.TypeMeta {
	var kind metav1.TypeMeta
	_ = jx.DecodeBytes(data).ObjBytes(func(d *jx.Decoder, field []byte) (err error) {
		switch string(field) {
		case "apiVersion":
			kind.APIVersion, err = d.Str()
		case "kind":
			kind.Kind, err = d.Str()
		default:
			err = d.Skip()
		}
		if err == nil && kind.APIVersion != "" && kind.Kind != "" {
			err = io.EOF
		}
		return err
	})
	return kind
}

// nameOf is the name of an object that may not be one, for an error.
func nameOf(data []byte) string {
	var object metav1.PartialObjectMetadata
	_ = json.Unmarshal(data, &object)
	return strings.TrimPrefix(key(&object).String(), "/")
}

// explain is the error that a value does not fit a type, with the field in it.
func explain(data []byte, t reflect.Type, err error) error {
	if path, cause := misfit(data, t); cause != nil {
		return fmt.Errorf("%s: %w", strings.TrimPrefix(path, "."), cause)
	}
	return err
}

// misfit finds the innermost part of a value that does not fit its type, as in
// ".spec.containers[0].resources.requests[cpu]". The error is nil if all of it
// fits. It decodes a part again for every level above: it is for errors only.
func misfit(data []byte, t reflect.Type) (path string, err error) {
	if err = utiljson.Unmarshal(data, reflect.New(t).Interface()); err == nil {
		return "", nil
	}
	for _, p := range partsOf(data, t) {
		if below, cause := misfit(p.data, p.fits); cause != nil {
			return p.path + below, cause
		}
	}
	return "", err
}

// part is a field, a member or an element of a JSON value.
type part struct {
	path string // from the value to it
	data []byte
	fits reflect.Type // what it is to be decoded into
}

// partsOf are the parts of a value, none when its type has its own way to
// decode it.
func partsOf(data []byte, t reflect.Type) []part {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	var parts []part
	var members map[string]json.RawMessage
	var elements []json.RawMessage
	switch {
	case t.Kind() == reflect.Struct && json.Unmarshal(data, &members) == nil:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if member, ok := members[name]; ok {
				parts = append(parts, part{"." + name, member, f.Type})
			}
		}
	case t.Kind() == reflect.Map && json.Unmarshal(data, &members) == nil:
		for _, name := range slices.Sorted(maps.Keys(members)) {
			parts = append(parts, part{"[" + name + "]", members[name], t.Elem()})
		}
	case t.Kind() == reflect.Slice && json.Unmarshal(data, &elements) == nil:
		for i, element := range elements {
			parts = append(parts, part{fmt.Sprintf("[%d]", i), element, t.Elem()})
		}
	}
	return parts
}
