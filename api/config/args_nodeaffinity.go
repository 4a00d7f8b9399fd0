package config

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// NodeAffinityArgs are the arguments of NodeAffinity.
type NodeAffinityArgs struct {
	// AddedAffinity is asked of every pod of the profile, in addition to the pod's own
	// node affinity. Empty by default.
	AddedAffinity *corev1.NodeAffinity `json:"addedAffinity,omitempty"`
}

// NodeAffinityArgs returns the profile's arguments of NodeAffinity.
func (p *Profile) NodeAffinityArgs() *NodeAffinityArgs {
	return argsOf[NodeAffinityArgs](p)
}

func (a *NodeAffinityArgs) setDefaults() {}

func (a *NodeAffinityArgs) validate(path *field.Path) field.ErrorList {
	if a.AddedAffinity == nil {
		return nil
	}
	path = path.Child("addedAffinity")
	var errs field.ErrorList
	if required := a.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := path.Child("requiredDuringSchedulingIgnoredDuringExecution")
		if len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(at.Child("nodeSelectorTerms"), "without a term no node would match"))
		}
		_, err := nodeaffinity.NewNodeSelector(required, field.WithPath(at))
		errs = append(errs, fieldErrors(at, err)...)
	}
	preferred := a.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	at := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
	for i, term := range preferred {
		if term.Weight < 1 || term.Weight > 100 {
			errs = append(errs, field.Invalid(at.Index(i).Child("weight"), term.Weight, weightRange(100)))
		}
	}
	_, err := nodeaffinity.NewPreferredSchedulingTerms(preferred, field.WithPath(at))
	return append(errs, fieldErrors(at, err)...)
}

// fieldErrors takes apart an error made of field errors.
func fieldErrors(path *field.Path, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	var errs field.ErrorList
	for _, e := range utilerrors.Flatten(utilerrors.NewAggregate([]error{err})).Errors() {
		fieldError, ok := errors.AsType[*field.Error](e)
		if !ok {
			fieldError = field.InternalError(path, e)
		}
		errs = append(errs, fieldError)
	}
	return errs
}
