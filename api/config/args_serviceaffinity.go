package config

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ServiceAffinityArgs are the arguments of ServiceAffinity, which kube-scheduler does
// not have any more.
type ServiceAffinityArgs struct {
	// AffinityLabels are the keys of node labels that all pods of a service must have
	// in common: its pods go to nodes with the same values of these labels. Required
	// when the plugin runs.
	AffinityLabels []string `json:"affinityLabels"`
}

// ServiceAffinityArgs returns the profile's arguments of ServiceAffinity.
func (p *Profile) ServiceAffinityArgs() *ServiceAffinityArgs {
	return argsOf[ServiceAffinityArgs](p)
}

func (a *ServiceAffinityArgs) setDefaults() {}

func (a *ServiceAffinityArgs) validate(path *field.Path) field.ErrorList {
	path = path.Child("affinityLabels")
	if len(a.AffinityLabels) == 0 {
		return field.ErrorList{field.Required(path, "name a label of nodes such as topology.kubernetes.io/zone")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, label := range a.AffinityLabels {
		errs = append(errs, metav1validation.ValidateLabelName(label, path.Index(i))...)
		if seen[label] {
			errs = append(errs, field.Duplicate(path.Index(i), label))
		}
		seen[label] = true
	}
	return errs
}
