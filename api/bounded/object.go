package bounded

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DecodeObject decodes an object, which has to be of a kind, into the value that into points to, by [Decode] or [DecodeStrict]. The
// error names the field and its value.
func DecodeObject(object *unstructured.Unstructured, kind schema.GroupVersionKind, decode func([]byte, any) error, into any) error {
	switch version := kind.GroupVersion().String(); {
	case object.GetAPIVersion() != version:
		return field.NotSupported(field.NewPath("apiVersion"), object.GetAPIVersion(), []string{version})
	case object.GetKind() != kind.Kind:
		return field.NotSupported(field.NewPath("kind"), object.GetKind(), []string{kind.Kind})
	}
	text, err := object.MarshalJSON()
	if err == nil {
		err = decode(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, object.GetName(), err)
	}
	return nil
}

// EncodeObject returns an object as an unstructured one, with its apiVersion and kind set.
func EncodeObject(object metav1.Object, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, object.GetName(), err)
	}
	encoded := &unstructured.Unstructured{Object: fields}
	encoded.SetGroupVersionKind(kind)
	return encoded, nil
}
