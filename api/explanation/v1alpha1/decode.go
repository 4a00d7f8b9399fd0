package v1alpha1

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	question := &Question{}
	if err := bounded.DecodeObject(object, groupVersionKind(), bounded.Decode, question); err != nil {
		return nil, err
	}
	if _, name := question.Spec.Subject(); name == "" {
		return nil, field.Invalid(field.NewPath("spec", "about"), question.Spec.About, "must be pod/NAME or gang/NAME")
	}
	return question, nil
}

// Encode returns a question as an unstructured object, with its apiVersion and kind set.
func Encode(question *Question) (*unstructured.Unstructured, error) {
	return bounded.EncodeObject(question, groupVersionKind())
}

func groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: Group, Version: Version, Kind: Kind}
}
