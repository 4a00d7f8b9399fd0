package v1alpha2

import "k8s.io/apimachinery/pkg/util/validation/field"

// SeparatePolicy moves pods away from others, or off their nodes, that are annotated
// rescheduling.muster.dev/separate-from, which POST /separate at the address of listen does.
type SeparatePolicy struct {
	// Enabled turns it on. Defaults to false.
	Enabled bool `json:"enabled"`
}

// RepairPolicy moves pods off nodes that would not take them if they came there now.
type RepairPolicy struct {
	// Enabled turns it on. Defaults to false.
	Enabled bool `json:"enabled"`
	// Checks are the filter plugins that decide it. They count in profiles that run them.
	// Defaults to TaintToleration, NodeAffinity, PodTopologySpread and InterPodAffinity.
	Checks []string `json:"checks"`
	// Duplicates moves pods to nodes without one of their controller when theirs has more than
	// one. Defaults to false.
	Duplicates bool `json:"duplicates"`
}

func baseRepair() RepairPolicy {
	return RepairPolicy{Checks: []string{TaintToleration, NodeAffinity, PodTopologySpread, InterPodAffinity}}
}

func (r RepairPolicy) validate(path *field.Path) (errs field.ErrorList) {
	path = path.Child("checks")
	filters := pluginNames(pluginsAt(atFilter, OnRequest))
	for i, check := range r.Checks {
		errs = append(errs, validateOneOf(path.Index(i), check, filters...)...)
	}
	if r.Enabled && len(r.Checks) == 0 && !r.Duplicates {
		errs = append(errs, field.Required(path, "without duplicates there is nothing else to repair"))
	}
	return errs
}
