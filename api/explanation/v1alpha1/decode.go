package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/bounded"
)

// Subject is a kind of what is asked about.
type Subject string

// The subjects.
const (
	Pod  Subject = "pod"
	Gang Subject = "gang"
)

// About returns what asks about a pod or a gang.
func About(of Subject, name string) QuestionSpec { return QuestionSpec{string(of) + "/" + name} }

// Subject returns what is asked about. It has no name if the question makes no sense.
func (s QuestionSpec) Subject() (of Subject, name string) {
	kind, name, _ := strings.Cut(s.About, "/")
	if !slices.Contains([]Subject{Pod, Gang}, Subject(kind)) || strings.Contains(name, "/") {
		return "", ""
	}
	return Subject(kind), name
}

// Decode turns an object into a question. Fields that are not known are left out.
func Decode(object *unstructured.Unstructured) (*Question, error) {
	switch version := Group + "/" + Version; {
	case object.GetAPIVersion() != version:
		return nil, field.NotSupported(field.NewPath("apiVersion"), object.GetAPIVersion(), []string{version})
	case object.GetKind() != Kind:
		return nil, field.NotSupported(field.NewPath("kind"), object.GetKind(), []string{Kind})
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", Kind, object.GetName(), err)
	}
	question := &Question{}
	if err := bounded.Decode(text, question); err != nil {
		return nil, fmt.Errorf("%s %s: %w", Kind, object.GetName(), err)
	}
	if _, name := question.Spec.Subject(); name == "" {
		return nil, field.Invalid(field.NewPath("spec", "about"), question.Spec.About, "must be pod/NAME or gang/NAME")
	}
	return question, nil
}

// Encode returns a question as an unstructured object, with its apiVersion and kind set.
func Encode(question *Question) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(question)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", Kind, question.Name, err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion(Group + "/" + Version)
	object.SetKind(Kind)
	return object, nil
}
