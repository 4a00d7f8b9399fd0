package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// InterPodAffinityArgs are the arguments of InterPodAffinity.
type InterPodAffinityArgs struct {
	// HardPodAffinityWeight is the score, 0 to 100, that a topology domain gets for each pod in it
	// whose required affinity matches the pod at hand. Defaults to 1; 0 leaves required affinity
	// out of the score.
	HardPodAffinityWeight *int32 `json:"hardPodAffinityWeight"`
	// IgnorePreferredTermsOfExistingPods leaves a pod without preferred terms of its own
	// unscored, whatever the pods that run prefer or require, which spares looking at
	// them. Defaults to false.
	IgnorePreferredTermsOfExistingPods bool `json:"ignorePreferredTermsOfExistingPods"`
}

// InterPodAffinityArgs returns the profile's arguments of InterPodAffinity.
func (p *Profile) InterPodAffinityArgs() *InterPodAffinityArgs {
	return argsOf[InterPodAffinityArgs](p)
}

func (a *InterPodAffinityArgs) setDefaults() {
	if a.HardPodAffinityWeight == nil {
		a.HardPodAffinityWeight = new(int32(1))
	}
}

func (a *InterPodAffinityArgs) validate(path *field.Path) field.ErrorList {
	if weight := *a.HardPodAffinityWeight; weight < 0 || weight > 100 {
		return field.ErrorList{field.Invalid(path.Child("hardPodAffinityWeight"), weight, "must be between 0 and 100")}
	}
	return nil
}
