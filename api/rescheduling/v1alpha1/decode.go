package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/bounded"
)

// Decode turns an object into a plan. It takes nothing that it does not know: a plan that is
// half understood must not be half honoured. The error names each field and its value.
func Decode(object *unstructured.Unstructured) (*ReschedulingPlan, error) {
	plan := &ReschedulingPlan{}
	if err := bounded.DecodeObject(object, groupVersionKind(), bounded.DecodeStrict, plan); err != nil {
		return nil, err
	}
	if errs := plan.validate(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return plan, nil
}

// Encode returns a plan as an unstructured object, with its apiVersion and kind set.
func Encode(plan *ReschedulingPlan) (*unstructured.Unstructured, error) {
	return bounded.EncodeObject(plan, groupVersionKind())
}

func groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: Group, Version: Version, Kind: Kind}
}

func (p *ReschedulingPlan) validate() field.ErrorList {
	spec := field.NewPath("spec")
	errs := oneOf(spec.Child("policy"), p.Spec.Policy, Policies()...)
	errs = append(errs, oneOf(spec.Child("mode"), p.Spec.Mode, DryRun, Approve, Auto)...)
	if len(p.Spec.Steps) == 0 {
		errs = append(errs, field.Required(spec.Child("steps"), "a plan moves pods"))
	}
	if p.Spec.Expires.IsZero() {
		errs = append(errs, field.Required(spec.Child("expires"), "a plan does not last for ever"))
	}
	for i := range p.Spec.Beneficiaries {
		b, at := &p.Spec.Beneficiaries[i], spec.Child("beneficiaries").Index(i)
		errs = append(errs, b.validate(at)...)
		errs = append(errs, required(at, named{"node", b.Node})...)
	}
	for i := range p.Spec.Steps {
		errs = append(errs, p.Spec.Steps[i].validate(spec.Child("steps").Index(i))...)
	}
	status := field.NewPath("status")
	errs = append(errs, oneOf(status.Child("phase"), p.Status.Phase, "", Pending, Approved, Executing, Succeeded, Failed, Expired)...)
	if steps := len(p.Status.Steps); steps > len(p.Spec.Steps) {
		errs = append(errs, field.TooMany(status.Child("steps"), steps, len(p.Spec.Steps)))
	}
	for i, step := range p.Status.Steps {
		errs = append(
			errs,
			oneOf(status.Child("steps").Index(i).Child("phase"), step.Phase, StepWaiting, StepEvicting, StepEvicted, StepMoved)...)
	}
	return errs
}

func (s *Step) validate(path *field.Path) field.ErrorList {
	errs := s.Pod.validate(path.Child("pod"))
	errs = append(errs, required(path.Child("controller"), named{"uid", string(s.Controller.UID)})...)
	errs = append(errs, required(path, named{"from", s.From}, named{"to", s.To})...)
	if s.From != "" && s.From == s.To {
		errs = append(errs, field.Invalid(path.Child("to"), s.To, "must be another node than from"))
	}
	if len(s.Replacement.Spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("replacement", "spec", "containers"), "the replacement is a pod"))
	}
	return errs
}

func (r PodReference) validate(path *field.Path) field.ErrorList {
	return required(path, named{"namespace", r.Namespace}, named{"name", r.Name}, named{"uid", string(r.UID)})
}

// named is a field and its value.
type named struct{ name, value string }

func required(path *field.Path, fields ...named) (errs field.ErrorList) {
	for _, f := range fields {
		if f.value == "" {
			errs = append(errs, field.Required(path.Child(f.name), "it says what the plan is about"))
		}
	}
	return errs
}

func oneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}
