package config

import (
	"net"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SeparatePolicy moves pods away from others, or off their nodes, that are annotated
// rescheduling.muster.dev/separate-from.
type SeparatePolicy struct {
	// Enabled turns it on. Defaults to false.
	Enabled bool `json:"enabled"`
	// Listen is the host:port that takes POST /separate, which annotates pods with muster's own
	// rights. It asks for no credentials, so the host must be a loopback address; who is elsewhere
	// annotates pods, as far as RBAC lets it. Needs enabled. Defaults to "", which is none.
	Listen string `json:"listen"`
}

func (s SeparatePolicy) validate(path *field.Path) field.ErrorList {
	if s.Listen == "" {
		return nil
	}
	path = path.Child("listen")
	if errs := validateListen(path, s.Listen); len(errs) > 0 {
		return errs
	}
	var errs field.ErrorList
	host, _, _ := net.SplitHostPort(s.Listen) // it is valid
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		errs = append(
			errs, field.Invalid(path, s.Listen, "must be a loopback address, such as 127.0.0.1:8891: nobody is asked for credentials there"),
		)
	}
	if !s.Enabled {
		errs = append(errs, field.Invalid(path, s.Listen, "needs enabled: nobody would act on requests"))
	}
	return errs
}

// RepairPolicy moves pods off nodes that would not take them if they came there now.
type RepairPolicy struct {
	// Checks are the filter plugins that decide it, such as TaintToleration, NodeAffinity, PodTopologySpread and
	// InterPodAffinity. They count in profiles that run them. Duplicates is one more: it moves pods to nodes without one
	// of their controller when theirs has more than one, and neither coalesce nor freeDomains may be there beside it.
	// Defaults to none, with which nothing is repaired.
	Checks []string `json:"checks,omitempty"`
}

// CheckDuplicates is the check of [RepairPolicy] that is no filter plugin.
const CheckDuplicates = "Duplicates"

// UsualRepairs returns the checks that most clusters want, for those who look what there is to repair.
func UsualRepairs() []string {
	return []string{TaintToleration, NodeAffinity, PodTopologySpread, InterPodAffinity}
}

// Enabled reports whether there is anything to repair.
func (r RepairPolicy) Enabled() bool { return len(r.Checks) > 0 }

// Duplicates reports whether duplicates are to be repaired.
func (r RepairPolicy) Duplicates() bool { return slices.Contains(r.Checks, CheckDuplicates) }

func (r RepairPolicy) validate(path *field.Path) (errs field.ErrorList) {
	path = path.Child("checks")
	checks := append(pluginNames(pluginsAt(atFilter, OnRequest)), CheckDuplicates)
	for i, check := range r.Checks {
		errs = append(errs, validateOneOf(path.Index(i), check, checks...)...)
	}
	return errs
}
