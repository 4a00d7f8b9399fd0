package v1alpha1

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Observed is a PodGroup as the watch shows it. It is decoded once, when the watch does, and
// so by nobody who asks for it. It is immutable.
//
// +kubebuilder:object:generate=false
type Observed struct {
	// Unstructured is the object itself.
	*unstructured.Unstructured
	// PodGroup is the group as [Decode] reads it, nil when that is an error.
	PodGroup *PodGroup
	// Policy is the policy that [DecodePolicy] reads from its annotations.
	Policy Policy
	// Err is the error of either, nil for a PodGroup that is valid.
	Err error
}

// Observe decodes an object, which must not change afterwards.
func Observe(object *unstructured.Unstructured) *Observed {
	o := &Observed{Unstructured: object}
	if o.PodGroup, o.Err = Decode(object); o.Err == nil {
		o.Policy, o.Err = DecodePolicy(o.PodGroup.Annotations)
	}
	return o
}
