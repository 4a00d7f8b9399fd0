package v1alpha1

import "muster.dev/muster/api/config"

// Policy lists what runs by its names of the time before plugins.
type Policy struct {
	// Predicates decide which nodes a pod fits. Without the field the default predicates run; with
	// an empty list only CheckNodeUnschedulable and PodToleratesNodeTaints, which always run.
	Predicates []PredicatePolicy `json:"predicates"`
	// Priorities rank nodes. Without the field the default ones run; of an empty list none.
	Priorities []PriorityPolicy `json:"priorities"`
	// HardPodAffinitySymmetricWeight takes the place of the field of that name outside of
	// the policy, unless it is 0.
	HardPodAffinitySymmetricWeight int32 `json:"hardPodAffinitySymmetricWeight"`
	// Extenders were called by kube-scheduler, and still are if its own configuration lists
	// them. Here there may be none.
	Extenders []any `json:"extenders"`
	// AlwaysCheckAllPredicates asked for all reasons against a node. Of a node muster tells
	// the first one.
	AlwaysCheckAllPredicates bool `json:"alwaysCheckAllPredicates"`
}

// PredicatePolicy is a predicate.
type PredicatePolicy struct {
	// Name is the name of the predicate, or of the plugin that does the same. With an
	// argument, any name will do.
	Name string `json:"name"`
	// Argument makes a predicate of what it holds.
	Argument *PredicateArgument `json:"argument"`
}

// PredicateArgument configures a predicate, by one of its two fields.
type PredicateArgument struct {
	// ServiceAffinity keeps the pods of a service on nodes that are labelled alike.
	ServiceAffinity *ServiceAffinity `json:"serviceAffinity"`
	// LabelsPresence keeps pods on nodes that have some labels, or off them.
	LabelsPresence *LabelsPresence `json:"labelsPresence"`
}

// ServiceAffinity keeps the pods of a service on nodes that are labelled alike.
type ServiceAffinity struct {
	// Labels are the keys of the node labels that have to agree.
	Labels []string `json:"labels"`
}

// LabelsPresence keeps pods on nodes that have some labels, whatever their values, or off
// them.
type LabelsPresence struct {
	// Labels are the keys of the node labels.
	Labels []string `json:"labels"`
	// Presence says that a node must have all of them; else it must have none.
	Presence bool `json:"presence"`
}

// PriorityPolicy is a priority.
type PriorityPolicy struct {
	// Name is the name of the priority, or of the plugin that does the same. With an
	// argument, any name will do.
	Name string `json:"name"`
	// Weight multiplies its score, 1 to 100.
	Weight int32 `json:"weight"`
	// Argument makes a priority of what it holds.
	Argument *PriorityArgument `json:"argument"`
}

// PriorityArgument configures a priority.
type PriorityArgument struct {
	// RequestedToCapacityRatioArguments score nodes by how much of them is requested.
	RequestedToCapacityRatioArguments *RequestedToCapacityRatioArguments `json:"requestedToCapacityRatioArguments"`
	// ServiceAntiAffinity spread the pods of a service over the values of a label. muster
	// has no such priority.
	ServiceAntiAffinity any `json:"serviceAntiAffinity"`
	// LabelPreference preferred nodes that have a label, or not. muster has no such priority.
	LabelPreference any `json:"labelPreference"`
}

// RequestedToCapacityRatioArguments are the shape and the resources of the scoring strategy
// that is called RequestedToCapacityRatio today.
type RequestedToCapacityRatioArguments struct {
	// Shape is the function from how much is requested to a score.
	Shape []config.UtilizationShapePoint `json:"shape"`
	// Resources count in the score. Defaults to cpu and memory with weight 1 each.
	Resources []config.ResourceSpec `json:"resources"`
}
