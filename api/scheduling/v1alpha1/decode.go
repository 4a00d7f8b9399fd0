package v1alpha1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

const (
	mustBeMinMember = "must be an integer from 1 to 2147483647"
	mustBeSeconds   = "must be an integer from 0 to 2147483647"

	// maxResources is how many resources minResources may name.
	maxResources = 64
)

// Decode turns an object into a PodGroup. The CRD may not be ours, so values are checked
// here as well: minMember is at least 1, and 1 when it is missing. Fields that are not
// known are left out. The error is an Aggregate that names each field and its value.
func Decode(object *unstructured.Unstructured) (*PodGroup, error) {
	if err := checkKind(object.GroupVersionKind()); err != nil {
		return nil, field.ErrorList{err}.ToAggregate()
	}
	podGroup := &PodGroup{TypeMeta: metav1.TypeMeta{APIVersion: object.GetAPIVersion(), Kind: Kind}}
	var d fields.Decoder
	d.Decode(field.NewPath("metadata"), object.Object["metadata"], &podGroup.ObjectMeta, "must be metadata of an object")
	podGroup.Spec = decodeSpec(&d, field.NewPath("spec"), object.Object["spec"])
	d.Decode(field.NewPath("status"), object.Object["status"], &podGroup.Status, "must be the status of a PodGroup")
	if err := d.Err(); err != nil {
		return nil, err
	}
	return podGroup, nil
}

func checkKind(kind schema.GroupVersionKind) *field.Error {
	var supported []string
	for _, r := range Resources() {
		if kind.GroupVersion() == r.GroupVersion() {
			if kind.Kind != Kind {
				return field.NotSupported(field.NewPath("kind"), kind.Kind, []string{Kind})
			}
			return nil
		}
		supported = append(supported, r.GroupVersion().String())
	}
	return field.NotSupported(field.NewPath("apiVersion"), kind.GroupVersion().String(), supported)
}

func decodeSpec(d *fields.Decoder, path *field.Path, value any) PodGroupSpec {
	values := d.Mapping(path, value)
	spec := PodGroupSpec{MinMember: 1}

	at := path.Child("minMember")
	d.Decode(at, values["minMember"], &spec.MinMember, mustBeMinMember)
	if spec.MinMember < 1 {
		d.Add(field.Invalid(at, spec.MinMember, mustBeMinMember))
	}

	at = path.Child("minResources")
	resources := d.Mapping(at, values["minResources"])
	if len(resources) > maxResources {
		d.Add(field.TooMany(at, len(resources), maxResources))
		resources = nil
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if spec.MinResources == nil {
			spec.MinResources = corev1.ResourceList{}
		}
		spec.MinResources[corev1.ResourceName(name)] = d.Quantity(at.Key(fields.Brief(name)), resources[name])
	}

	at = path.Child("scheduleTimeoutSeconds")
	d.Decode(at, values["scheduleTimeoutSeconds"], &spec.ScheduleTimeoutSeconds, mustBeSeconds)
	if seconds := spec.ScheduleTimeoutSeconds; seconds != nil && *seconds < 0 {
		d.Add(field.Invalid(at, *seconds, mustBeSeconds))
	}
	return spec
}

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
