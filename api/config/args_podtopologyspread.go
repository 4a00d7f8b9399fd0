package config

import (
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodTopologySpreadArgs are the arguments of PodTopologySpread.
type PodTopologySpreadArgs struct {
	// DefaultConstraints apply to pods that have no constraints of their own. They have
	// no labelSelector: it follows from the services and the controller that a pod
	// belongs to. They need the defaultingType List.
	DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints,omitempty"`
	// DefaultingType says where the default constraints come from: System (default) or
	// List.
	DefaultingType PodTopologySpreadDefaulting `json:"defaultingType"`
}

// PodTopologySpreadDefaulting says where the constraints of pods without any come from.
type PodTopologySpreadDefaulting string

const (
	// SystemDefaulting takes kube-scheduler's constraints, which prefer a skew of at most 3 between
	// nodes and of at most 5 between zones.
	SystemDefaulting PodTopologySpreadDefaulting = "System"
	// ListDefaulting takes defaultConstraints, which may be empty.
	ListDefaulting PodTopologySpreadDefaulting = "List"
)

// PodTopologySpreadArgs returns the profile's arguments of PodTopologySpread.
func (p *Profile) PodTopologySpreadArgs() *PodTopologySpreadArgs {
	return argsOf[PodTopologySpreadArgs](p)
}

func (a *PodTopologySpreadArgs) setDefaults() {
	if a.DefaultingType == "" {
		a.DefaultingType = SystemDefaulting
	}
}

func (a *PodTopologySpreadArgs) validate(path *field.Path) field.ErrorList {
	at := path.Child("defaultingType")
	errs := validateListed(at, a.DefaultingType)
	if a.DefaultingType == SystemDefaulting && len(a.DefaultConstraints) > 0 {
		errs = append(errs, field.Invalid(at, a.DefaultingType, "must be List when there are defaultConstraints"))
	}
	seen := map[string]bool{}
	for i, constraint := range a.DefaultConstraints {
		at := path.Child("defaultConstraints").Index(i)
		errs = append(errs, validateDefaultConstraint(at, constraint)...)
		purpose := constraint.TopologyKey + " with " + string(constraint.WhenUnsatisfiable)
		if seen[purpose] {
			errs = append(errs, field.Duplicate(at, purpose))
		}
		seen[purpose] = true
	}
	return errs
}

func validateDefaultConstraint(path *field.Path, constraint corev1.TopologySpreadConstraint) field.ErrorList {
	var errs field.ErrorList
	if constraint.MaxSkew <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxSkew"), constraint.MaxSkew, "must be greater than zero"))
	}
	at := path.Child("topologyKey")
	if constraint.TopologyKey == "" {
		errs = append(errs, field.Required(at, "name a label of nodes such as topology.kubernetes.io/zone"))
	} else {
		errs = append(errs, metav1validation.ValidateLabelName(constraint.TopologyKey, at)...)
	}
	errs = append(
		errs,
		validateOneOf(path.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
	if constraint.LabelSelector != nil {
		errs = append(errs, field.Forbidden(path.Child("labelSelector"), "it follows from the services and the controller of each pod"))
	}
	errs = append(errs, validateInclusionPolicy(path.Child("nodeAffinityPolicy"), constraint.NodeAffinityPolicy)...)
	return append(errs, validateInclusionPolicy(path.Child("nodeTaintsPolicy"), constraint.NodeTaintsPolicy)...)
}

func validateInclusionPolicy(path *field.Path, policy *corev1.NodeInclusionPolicy) field.ErrorList {
	if policy == nil {
		return nil
	}
	return validateOneOf(path, *policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
}
