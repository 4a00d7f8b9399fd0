package config

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NodeResourcesFitArgs are the arguments of NodeResourcesFit.
type NodeResourcesFitArgs struct {
	// IgnoredResources are resources that the filter does not look at. Scores are not
	// affected.
	IgnoredResources []string `json:"ignoredResources,omitempty"`
	// IgnoredResourceGroups are the domains of resources that the filter does not look
	// at: example.com stands for example.com/gpu and every other resource of
	// example.com. Scores are not affected.
	IgnoredResourceGroups []string `json:"ignoredResourceGroups,omitempty"`
	// ScoringStrategy says how nodes are scored.
	ScoringStrategy ScoringStrategy `json:"scoringStrategy"`
}

// ScoringStrategy says how NodeResourcesFit scores nodes.
type ScoringStrategy struct {
	// Type is LeastAllocated (default), which spreads pods out, MostAllocated, which packs
	// them together, or RequestedToCapacityRatio, which goes by a shape.
	Type ScoringStrategyType `json:"type"`
	// Resources are the resources that count, with their weights. Defaults to cpu and
	// memory with weight 1 each.
	Resources []ResourceSpec `json:"resources"`
	// RequestedToCapacityRatio holds the shape. Required for the type of its name, and not
	// for others.
	RequestedToCapacityRatio *RequestedToCapacityRatioParam `json:"requestedToCapacityRatio,omitempty"`
}

// ScoringStrategyType is the rule by which NodeResourcesFit scores.
type ScoringStrategyType string

const (
	// LeastAllocated scores a node higher the less of it is requested.
	LeastAllocated ScoringStrategyType = "LeastAllocated"
	// MostAllocated scores a node higher the more of it is requested.
	MostAllocated ScoringStrategyType = "MostAllocated"
	// RequestedToCapacityRatio scores a node by a function of how much of it is requested.
	RequestedToCapacityRatio ScoringStrategyType = "RequestedToCapacityRatio"
)

// ResourceSpec is a resource that counts in a score.
type ResourceSpec struct {
	// Name is the name of the resource, such as cpu or nvidia.com/gpu.
	Name string `json:"name"`
	// Weight is the weight of the resource among the others, 1 to 100. Defaults to 1.
	Weight int64 `json:"weight"`
}

// NodeResourcesFitArgs returns the profile's arguments of NodeResourcesFit.
func (p *Profile) NodeResourcesFitArgs() *NodeResourcesFitArgs {
	return argsOf[NodeResourcesFitArgs](p)
}

// packs says that pods of the profile prefer nodes that are full already.
func (p *Profile) packs() bool { return p.NodeResourcesFitArgs().ScoringStrategy.Type == MostAllocated }

func (a *NodeResourcesFitArgs) setDefaults() {
	if a.ScoringStrategy.Type == "" {
		a.ScoringStrategy.Type = LeastAllocated
	}
	a.ScoringStrategy.Resources = defaultResources(a.ScoringStrategy.Resources)
}

func (a *NodeResourcesFitArgs) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range a.IgnoredResources {
		errs = append(errs, metav1validation.ValidateLabelName(name, path.Child("ignoredResources").Index(i))...)
	}
	for i, group := range a.IgnoredResourceGroups {
		at := path.Child("ignoredResourceGroups").Index(i)
		if strings.Contains(group, "/") {
			errs = append(errs, field.Invalid(at, group, "a resource group must not contain '/'"))
			continue
		}
		errs = append(errs, metav1validation.ValidateLabelName(group, at)...)
	}
	strategy := path.Child("scoringStrategy")
	errs = append(
		errs,
		validateListed(strategy.Child("type"), a.ScoringStrategy.Type)...)
	errs = append(errs, a.ScoringStrategy.validateRatio(strategy.Child("requestedToCapacityRatio"))...)
	return append(errs, validateResources(strategy.Child("resources"), a.ScoringStrategy.Resources, 100)...)
}

// defaultResources fills in the resources that count in a score.
func defaultResources(resources []ResourceSpec) []ResourceSpec {
	if len(resources) == 0 {
		return []ResourceSpec{
			{Name: corev1.ResourceCPU.String(), Weight: 1},
			{Name: corev1.ResourceMemory.String(), Weight: 1},
		}
	}
	for i := range resources {
		if resources[i].Weight == 0 {
			resources[i].Weight = 1
		}
	}
	return resources
}

func validateResources(path *field.Path, resources []ResourceSpec, maxWeight int64) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, resource := range resources {
		at := path.Index(i)
		if resource.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "name a resource such as cpu or nvidia.com/gpu"))
		} else if seen[resource.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), resource.Name))
		}
		seen[resource.Name] = true
		if resource.Weight < 1 || resource.Weight > maxWeight {
			errs = append(errs, field.Invalid(at.Child("weight"), resource.Weight, weightRange(maxWeight)))
		}
	}
	return errs
}

func weightRange(maxWeight int64) string {
	if maxWeight == 1 {
		return "must be 1"
	}
	return fmt.Sprintf("must be between 1 and %d", maxWeight)
}
