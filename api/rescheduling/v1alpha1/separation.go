package v1alpha1

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Annotations of a pod that is to be moved, on request. The request is done when the pod is
// gone, and the annotations with it; in the template of a controller they stand for all of
// its pods.
const (
	// AnnotationSeparateFrom names what the pod is to be separated from: another pod, as in
	// lab/noisy-1, or a node, as in worker-a.
	AnnotationSeparateFrom = Group + "/separate-from"
	// AnnotationSeparateWhy says why, in words.
	AnnotationSeparateWhy = Group + "/separate-why"
)

// longestWhy is how long the words may be, in bytes.
const longestWhy = 256

// Separation names the pod or the node that a pod is to be separated from.
//
// +kubebuilder:object:generate=false
type Separation struct {
	Pod  types.NamespacedName // none for a node
	Node string               // "" for a pod
	Why  string
}

// String is as in AnnotationSeparateFrom.
func (s Separation) String() string {
	if s.Node != "" {
		return s.Node
	}
	return s.Pod.String()
}

// NewSeparation reads what AnnotationSeparateFrom and AnnotationSeparateWhy hold. The errors
// are about fields of these paths.
func NewSeparation(from, why string, fromPath, whyPath *field.Path) (s Separation, errs field.ErrorList) {
	s.Why = why
	if len(why) > longestWhy {
		errs = append(errs, field.TooLongMaxLength(whyPath, why, longestWhy))
	}
	if !strings.Contains(from, "/") {
		s.Node = from
		if wrong := validation.IsDNS1123Subdomain(from); len(wrong) > 0 {
			errs = append(errs, field.Invalid(fromPath, brief(from), "must be a pod, as in lab/noisy-1, or a node: "+strings.Join(wrong, "; ")))
		}
		return s, errs
	}
	pod, errsOfPod := ParsePod(from, fromPath)
	s.Pod = pod
	return s, append(errs, errsOfPod...)
}

// ParsePod reads the name of a pod, as in lab/noisy-1.
func ParsePod(text string, path *field.Path) (types.NamespacedName, field.ErrorList) {
	namespace, name, _ := strings.Cut(text, "/")
	if wrong := append(validation.IsDNS1123Label(namespace), validation.IsDNS1123Subdomain(name)...); len(wrong) > 0 {
		return types.NamespacedName{}, field.ErrorList{field.Invalid(path, brief(text), "must be namespace/name: "+strings.Join(wrong, "; "))}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// brief shortens a text for errors: anybody who may annotate a pod can write a text of any length.
func brief(text string) string {
	const shown = 64
	if len(text) <= shown {
		return text
	}
	return text[:shown] + "…"
}

// SeparationOf reads the separation that a pod's annotations ask for. It says false when it has
// none. The error names the annotation and its value.
func SeparationOf(annotations map[string]string) (s Separation, asked bool, err error) {
	from, asked := annotations[AnnotationSeparateFrom]
	if !asked {
		return Separation{}, false, nil
	}
	path := field.NewPath("metadata", "annotations")
	s, errs := NewSeparation(from, annotations[AnnotationSeparateWhy], path.Key(AnnotationSeparateFrom), path.Key(AnnotationSeparateWhy))
	if len(errs) > 0 {
		return Separation{}, true, fmt.Errorf("the request to separate it: %w", errs.ToAggregate())
	}
	return s, true, nil
}
