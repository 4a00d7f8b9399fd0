package config

import "k8s.io/apimachinery/pkg/util/validation/field"

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
	return validateLabelKeys(path, a.AffinityLabels)
}
