package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// NodeResourcesBalancedAllocationArgs are the arguments of
// NodeResourcesBalancedAllocation.
type NodeResourcesBalancedAllocationArgs struct {
	// Resources are the resources that are balanced against each other. Their weight
	// can only be 1. Defaults to cpu and memory.
	Resources []ResourceSpec `json:"resources"`
}

// NodeResourcesBalancedAllocationArgs returns the profile's arguments of
// NodeResourcesBalancedAllocation.
func (p *Profile) NodeResourcesBalancedAllocationArgs() *NodeResourcesBalancedAllocationArgs {
	return argsOf[NodeResourcesBalancedAllocationArgs](p)
}

func (a *NodeResourcesBalancedAllocationArgs) setDefaults() {
	a.Resources = defaultResources(a.Resources)
}

func (a *NodeResourcesBalancedAllocationArgs) validate(path *field.Path) field.ErrorList {
	return validateResources(path.Child("resources"), a.Resources, 1)
}
