package cluster

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-faster/jx"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/bounded"
)

// object puts one object of a dump into the view, or on the list of objects that do not belong there. An object
// that names no kind is of the default kind.
func (l *loader) object(data []byte, kind metav1.TypeMeta) error {
	if _, err := bounded.Length(data); err != nil {
		return err
	}
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
	if err := bounded.Decode(data, object); err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, nameOf(data), err)
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

// customObject gives an object to the handler of its kind.
func (l *loader) customObject(data []byte, kind *CustomKind) error {
	object := &unstructured.Unstructured{}
	if err := bounded.Decode(data, &object.Object); err != nil {
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

// typeOf returns the kind that an object names. It reads no further than it must.
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

// nameOf returns the name of an object that may not be one, for an error.
func nameOf(data []byte) string {
	var name types.NamespacedName
	_ = jx.DecodeBytes(data).ObjBytes(func(d *jx.Decoder, field []byte) error {
		if string(field) != "metadata" || d.Next() != jx.Object {
			return d.Skip()
		}
		return d.ObjBytes(func(d *jx.Decoder, field []byte) error {
			into := map[string]*string{"name": &name.Name, "namespace": &name.Namespace}[string(field)]
			if into == nil || d.Next() != jx.String {
				return d.Skip()
			}
			text, err := d.Str()
			*into = text[:min(len(text), bounded.MaxName)]
			return err
		})
	})
	return strings.TrimPrefix(name.String(), "/")
}
