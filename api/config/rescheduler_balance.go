package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RelievePolicy moves pods off nodes that are hot: that are measured to use more than is good
// for the pods on them. What is measured, when that is too old and which statistic counts is as
// for LoadAware, in the first profile that runs it.
type RelievePolicy struct {
	// Enabled turns it on. It needs a load.source. Defaults to false.
	Enabled bool `json:"enabled"`
	// HighThresholds are what makes a node hot, in percent of what it offers: to use as much of one of the resources.
	// It is relieved until it uses less. 0 stands for no threshold. Lower them when pods suffer before that, as where
	// latency counts. Defaults to cpu 80 and memory 85.
	HighThresholds map[corev1.ResourceName]int64 `json:"highThresholds"`
	// TargetThresholds are what a node must stay below that pods move to, in percent. Each is lower than the high one
	// of its resource, so that what has moved does not move on. Lower them when nodes that took pods get hot
	// themselves. Defaults to cpu 65 and memory 75.
	TargetThresholds map[corev1.ResourceName]int64 `json:"targetThresholds"`
	// PressureThresholds make a node hot, too: when processes wait for cpu or memory for this percentage of the time.
	// Each relief takes a tenth of the node's usage of that resource off the node, and no pod moves to such a node.
	// Pressure needs load.source Prometheus and load.prometheus.node.pressure, since NodeMetrics and metrics.k8s.io do
	// not report it. highThresholds recognize starvation by usage. Defaults to none.
	PressureThresholds map[corev1.ResourceName]int64 `json:"pressureThresholds,omitempty"`
}

// BalancePolicy moves pods off nodes that are measured to use much more than the others, while no pod is pending. What
// is measured is as for RelievePolicy. Gangs stay where they are.
type BalancePolicy struct {
	// Enabled turns it on. It needs a load.source, and neither coalesce nor freeDomains nor a profile that packs
	// pods (MostAllocated) may be there beside it. Defaults to false.
	Enabled bool `json:"enabled"`
	// Margins are by how much a node must use more than all nodes do together of what they offer, in percent of
	// that, to give pods away: for one of the resources. It gives as few as bring it below. A node that pods move to
	// uses less with them than a node that gives some away, by half of the margin. 0 stands for none. Lower it when
	// nodes are to be more alike, at the price of more moves. Defaults to cpu 20 and memory 20.
	Margins map[corev1.ResourceName]int64 `json:"margins"`
}

// RespreadPolicy moves pods onto nodes that have joined lately, while no pod is pending.
type RespreadPolicy struct {
	// Enabled turns it on. Neither coalesce nor freeDomains nor a profile that packs pods (MostAllocated) may be
	// there beside it. Defaults to false.
	Enabled bool `json:"enabled"`
	// NewFor is how long a node counts as new. Raise it when budgets let few pods move in that time. Defaults to 10m.
	NewFor metav1.Duration `json:"newFor"`
}

func baseRelieve() RelievePolicy {
	return RelievePolicy{
		HighThresholds:   map[corev1.ResourceName]int64{corev1.ResourceCPU: 80, corev1.ResourceMemory: 85},
		TargetThresholds: map[corev1.ResourceName]int64{corev1.ResourceCPU: 65, corev1.ResourceMemory: 75},
	}
}

func baseBalance() BalancePolicy {
	return BalancePolicy{
		Margins: map[corev1.ResourceName]int64{corev1.ResourceCPU: 20, corev1.ResourceMemory: 20},
	}
}

func baseRespread() RespreadPolicy {
	return RespreadPolicy{NewFor: metav1.Duration{Duration: 10 * time.Minute}}
}

func (r RelievePolicy) validate(path *field.Path) field.ErrorList {
	high, target := path.Child("highThresholds"), path.Child("targetThresholds")
	errs := append(ValidateThresholds(high, r.HighThresholds), ValidateThresholds(target, r.TargetThresholds)...)
	for _, name := range slices.Sorted(maps.Keys(r.HighThresholds)) {
		if h, t := r.HighThresholds[name], r.TargetThresholds[name]; h > 0 && (t <= 0 || t >= h) {
			errs = append(
				errs, field.Invalid(target.Key(string(name)), t, "must be greater than zero and less than "+high.Key(string(name)).String()),
			)
		}
	}
	pressure := path.Child("pressureThresholds")
	errs = append(errs, ValidateThresholds(pressure, r.PressureThresholds)...)
	errs = append(errs, validatePressed(pressure, slices.Sorted(maps.Keys(r.PressureThresholds)))...)
	for _, name := range slices.Sorted(maps.Keys(r.PressureThresholds)) {
		if r.TargetThresholds[name] <= 0 {
			errs = append(errs, field.Required(target.Key(string(name)), "where pods go that "+pressure.Key(string(name)).String()+" moves"))
		}
	}
	return errs
}

func (b BalancePolicy) validate(path *field.Path) field.ErrorList {
	return ValidateThresholds(path.Child("margins"), b.Margins)
}

// validateSource checks that it is known what nodes use where that is needed.
func (r Rescheduler) validateSource(path *field.Path, load *NodeLoad) (errs field.ErrorList) {
	for _, policy := range []struct {
		name    string
		enabled bool
	}{{"relieve", r.Relieve.Enabled}, {"balance", r.Balance.Enabled}} {
		if policy.enabled && load.Source == LoadSourceNone {
			at := path.Child(policy.name, "enabled")
			errs = append(errs, field.Invalid(at, true, "needs to know what nodes use, and load.source is None"))
		}
	}
	if r.Relieve.Enabled {
		relieve := path.Child("relieve")
		errs = append(errs, load.validateMeasured(relieve.Child("highThresholds"), r.Relieve.HighThresholds)...)
		errs = append(errs, load.validatePressureThresholds(relieve.Child("pressureThresholds"), r.Relieve.PressureThresholds)...)
	}
	if r.Balance.Enabled {
		errs = append(errs, load.validateMeasured(path.Child("balance", "margins"), r.Balance.Margins)...)
	}
	return errs
}

// validateMeasured checks that the source can measure what there are thresholds for: they would never be reached.
func (l *NodeLoad) validateMeasured(path *field.Path, thresholds map[corev1.ResourceName]int64) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		measures, why := true, ""
		switch l.Source {
		case LoadSourceNone: // told already
		case LoadSourceNodeMetric: // has whatever its agent reports
		case LoadSourceMetrics:
			measures, why = name == corev1.ResourceCPU || name == corev1.ResourceMemory, "load.source Metrics measures cpu and memory alone"
		case LoadSourcePrometheus:
			measures, why = l.Prometheus.Node.Queries[name] != "", fmt.Sprintf("needs load.prometheus.node.queries[%s]", name)
		}
		if !measures && thresholds[name] > 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), thresholds[name], why))
		}
	}
	return errs
}

// validatePressureThresholds checks that the source can tell how long processes wait.
func (l *NodeLoad) validatePressureThresholds(path *field.Path, thresholds map[corev1.ResourceName]int64) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		at := path.Key(string(name))
		switch query := fmt.Sprintf("load.prometheus.node.pressure[%s]", name); {
		case l.Source != LoadSourcePrometheus:
			errs = append(errs, field.Invalid(at, thresholds[name], fmt.Sprintf(
				"load.source %s does not tell how long processes wait: it takes Prometheus and %s, or highThresholds, which every source measures",
				l.Source, query,
			)))
		case l.Prometheus.Node.Pressure[name] == "":
			errs = append(errs, field.Invalid(at, thresholds[name], "needs "+query))
		}
	}
	return errs
}

func (r RespreadPolicy) validate(path *field.Path) field.ErrorList {
	return validatePositive(path.Child("newFor"), r.NewFor)
}
