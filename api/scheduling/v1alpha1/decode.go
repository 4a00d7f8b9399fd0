package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	mustBeMinMember = "must be an integer from 1 to 2147483647"
	mustBeSeconds   = "must be an integer from 0 to 2147483647"
	mustBeQuantity  = "must be a quantity of at least 0, such as 500m or 2Gi"
)

// Decode turns an object into a PodGroup. The CRD may not be ours, so values are checked
// here as well: minMember is at least 1, and 1 when it is missing. Fields that are not
// known are left out. The error is an Aggregate that names each field and its value.
func Decode(object *unstructured.Unstructured) (*PodGroup, error) {
	if err := checkKind(object.GroupVersionKind()); err != nil {
		return nil, field.ErrorList{err}.ToAggregate()
	}
	podGroup := &PodGroup{TypeMeta: metav1.TypeMeta{APIVersion: object.GetAPIVersion(), Kind: Kind}}
	d := decoder{}
	d.decode(field.NewPath("metadata"), object.Object["metadata"], &podGroup.ObjectMeta, "must be metadata of an object")
	podGroup.Spec = d.spec(field.NewPath("spec"), object.Object["spec"])
	d.decode(field.NewPath("status"), object.Object["status"], &podGroup.Status, "must be the status of a PodGroup")
	if len(d.errs) > 0 {
		return nil, d.errs.ToAggregate()
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

// decoder collects what is wrong.
type decoder struct{ errs field.ErrorList }

// decode decodes a value, which may be missing, into what into points to.
func (d *decoder) decode(path *field.Path, value any, into any, want string) {
	if value == nil {
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		d.errs = append(d.errs, field.Invalid(path, value, want))
	}
}

// mapping returns the fields of an object, which may be missing.
func (d *decoder) mapping(path *field.Path, value any) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		d.errs = append(d.errs, field.Invalid(path, value, "must be a mapping"))
	}
	return fields
}

func (d *decoder) spec(path *field.Path, value any) PodGroupSpec {
	fields := d.mapping(path, value)
	spec := PodGroupSpec{MinMember: 1}

	at := path.Child("minMember")
	d.decode(at, fields["minMember"], &spec.MinMember, mustBeMinMember)
	if spec.MinMember < 1 {
		d.errs = append(d.errs, field.Invalid(at, spec.MinMember, mustBeMinMember))
	}

	at = path.Child("minResources")
	resources := d.mapping(at, fields["minResources"])
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		var quantity resource.Quantity
		d.decode(at.Key(name), resources[name], &quantity, mustBeQuantity)
		if quantity.Sign() < 0 {
			d.errs = append(d.errs, field.Invalid(at.Key(name), resources[name], mustBeQuantity))
		}
		if spec.MinResources == nil {
			spec.MinResources = corev1.ResourceList{}
		}
		spec.MinResources[corev1.ResourceName(name)] = quantity
	}

	at = path.Child("scheduleTimeoutSeconds")
	d.decode(at, fields["scheduleTimeoutSeconds"], &spec.ScheduleTimeoutSeconds, mustBeSeconds)
	if seconds := spec.ScheduleTimeoutSeconds; seconds != nil && *seconds < 0 {
		d.errs = append(d.errs, field.Invalid(at, *seconds, mustBeSeconds))
	}
	return spec
}
