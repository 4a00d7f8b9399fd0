package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func (r Rescheduler) validate(path *field.Path) field.ErrorList {
	errs := validateListen(path.Child("listen"), r.Listen)
	errs = append(errs, validateListed(path.Child("mode"), r.Mode)...)
	for _, positive := range []struct {
		name  string
		value metav1.Duration
	}{
		{"interval", r.Interval},
		{"replacementTimeout", r.ReplacementTimeout},
	} {
		errs = append(errs, validatePositive(path.Child(positive.name), positive.value)...)
	}
	errs = append(errs, notNegative(path.Child("makeRoom", "pendingFor"), r.MakeRoom.PendingFor)...)
	errs = append(errs, r.FreeDomains.validate(path.Child("freeDomains"))...)
	errs = append(errs, r.Relieve.validate(path.Child("relieve"))...)
	errs = append(errs, r.Balance.validate(path.Child("balance"))...)
	errs = append(errs, r.Respread.validate(path.Child("respread"))...)
	errs = append(errs, validateListed(path.Child("coalesce", "mark"), r.Coalesce.Mark)...)
	errs = append(errs, notNegative(path.Child("coalesce", "closedFor"), r.Coalesce.ClosedFor)...)
	errs = append(errs, r.ScaleUp.validate(path.Child("scaleUp"))...)
	errs = append(errs, r.Separate.validate(path.Child("separate"))...)
	errs = append(errs, r.Repair.validate(path.Child("repair"))...)
	errs = append(errs, r.Evictable.validate(path.Child("evictable"))...)
	return append(errs, r.Budgets.validate(path.Child("budgets"))...)
}

// validateAims refuses policies that would undo each other's moves, or what the scheduler does.
func (r Rescheduler) validateAims(path *field.Path, profiles []Profile) (errs field.ErrorList) {
	for _, spreading := range []struct {
		name    string
		enabled bool
		undoes  string
	}{
		{"respread", r.Respread.Enabled, "one would put pods onto the nodes that the other empties"},
		{"balance", r.Balance.Enabled, "one would spread the load that the other gathers"},
	} {
		if spreading.enabled {
			at := path.Child(spreading.name, "enabled")
			errs = append(errs, r.validateAim(at, spreading.undoes)...)
			errs = append(errs, validateScores(at, profiles)...)
		}
	}
	if r.Repair.Duplicates() {
		errs = append(errs, r.validateAim(path.Child("repair", "checks"), "one would part the pods that the other puts together")...)
	}
	return errs
}

// validateAim refuses policies that gather pods beside one that spreads them.
func (r Rescheduler) validateAim(at *field.Path, undoes string) (errs field.ErrorList) {
	for _, other := range []struct {
		name    string
		enabled bool
	}{{"coalesce", r.Coalesce.Enabled}, {"freeDomains", r.FreeDomains.Enabled()}} {
		if other.enabled {
			errs = append(errs, field.Forbidden(at, "with "+other.name+": "+undoes))
		}
	}
	return errs
}

// validateScores refuses profiles that gather pods beside a policy that spreads them.
func validateScores(at *field.Path, profiles []Profile) (errs field.ErrorList) {
	for i := range profiles {
		if profiles[i].packs() {
			errs = append(errs, field.Forbidden(at, fmt.Sprintf(
				"profiles[%d] packs pods (%s with %s), and they would be spread again", i, NodeResourcesFit, MostAllocated,
			)))
		}
	}
	return errs
}

func (s ScaleUp) validate(path *field.Path) field.ErrorList {
	return s.ProvisioningRequest.validate(path.Child("provisioningRequest"))
}

// What the API server takes in a ProvisioningRequest.
const (
	maxParameters      = 100
	maxParameterLength = 255
)

func (r ProvisioningRequest) validate(path *field.Path) (errs field.ErrorList) {
	at := path.Child("parameters")
	if r.ClassName == "" {
		if len(r.Parameters) > 0 {
			errs = append(errs, field.Required(path.Child("className"), "nobody is asked without it"))
		}
		return errs
	}
	for _, problem := range validation.IsDNS1123Subdomain(r.ClassName) {
		errs = append(errs, field.Invalid(path.Child("className"), r.ClassName, problem))
	}
	if count := len(r.Parameters); count > maxParameters {
		errs = append(errs, field.TooMany(at, count, maxParameters))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		if name == "" {
			errs = append(errs, field.Required(at.Key(name), "a parameter has a name"))
		}
		if value := r.Parameters[name]; len(value) > maxParameterLength {
			errs = append(errs, field.TooLongMaxLength(at.Key(name), value, maxParameterLength))
		}
	}
	return errs
}

func (e Evictable) validate(path *field.Path) field.ErrorList {
	errs := validateSelector(path.Child("selector"), e.Selector)
	errs = append(errs, validateSelector(path.Child("nodeSelector"), e.NodeSelector)...)
	for i, kind := range e.Controllers {
		if kind == "" || kind[0] < 'A' || kind[0] > 'Z' {
			errs = append(errs, field.Invalid(path.Child("controllers").Index(i), kind, "want a kind, such as CloneSet.apps.kruise.io"))
		}
	}
	errs = append(errs, notNegative(path.Child("minAge"), e.MinAge)...)
	return append(errs, notBelowZero(path.Child("minReplicas"), e.MinReplicas)...)
}

func (b DisruptionBudgets) validate(path *field.Path) field.ErrorList {
	errs := b.Rate.validate(path.Child("rate"))
	for _, bound := range []struct {
		name  string
		value int32
	}{{"perPlan", b.PerPlan}, {"nodesPerPlan", b.NodesPerPlan}} {
		errs = append(errs, notBelowZero(path.Child(bound.name), bound.value)...)
	}
	errs = append(errs, validateShare(path.Child("perWorkload"), b.PerWorkload, 1)...)
	errs = append(errs, notNegative(path.Child("workloadCoolDown"), b.WorkloadCoolDown)...)
	for i, s := range b.Selected {
		errs = append(errs, s.validate(path.Child("selected").Index(i))...)
	}
	return errs
}

func (s SelectedBudget) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Selector == "" && len(s.Policies) == 0 && s.TopologyKey == "" && len(s.Windows) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), "a budget of all pods is budgets.rate"))
	}
	errs = append(errs, validateSelector(path.Child("selector"), s.Selector)...)
	for i, policy := range s.Policies {
		errs = append(errs, validateOneOf(path.Child("policies").Index(i), policy, v1alpha1.Policies()...)...)
	}
	if s.TopologyKey != "" {
		for _, problem := range validation.IsQualifiedName(s.TopologyKey) {
			errs = append(errs, field.Invalid(path.Child("topologyKey"), s.TopologyKey, problem))
		}
	}
	errs = append(errs, s.Rate.validate(path.Child("rate"))...)
	if s.MaxDown != nil {
		errs = append(errs, validateShare(path.Child("maxDown"), *s.MaxDown, 0)...)
	}
	for i, w := range s.Windows {
		errs = append(errs, w.validate(path.Child("windows").Index(i))...)
	}
	return errs
}

// validateShare checks a number of pods, or a percentage of them that must reach a lower bound.
func validateShare(path *field.Path, share intstr.IntOrString, least int) field.ErrorList {
	if share.Type == intstr.Int {
		return notBelowZero(path, share.IntVal)
	}
	if percent, err := strconv.Atoi(strings.TrimSuffix(share.StrVal, "%")); err != nil || !strings.HasSuffix(share.StrVal, "%") ||
		percent < least || percent > 100 {
		return field.ErrorList{field.Invalid(path, share.StrVal, fmt.Sprintf("must be a number, or per cent from %d%% to 100%%", least))}
	}
	return nil
}

func (r EvictionRate) validate(path *field.Path) field.ErrorList {
	errs := notBelowZero(path.Child("evictions"), r.Evictions)
	if r.Evictions > 0 {
		errs = append(errs, validatePositive(path.Child("per"), r.Per)...)
	}
	return errs
}

// clockTime is how times of a day are written.
const clockTime = "15:04"

func (w MaintenanceWindow) validate(path *field.Path) (errs field.ErrorList) {
	for _, t := range []struct{ name, value string }{{"from", w.From}, {"to", w.To}} {
		if _, err := time.Parse(clockTime, t.value); err != nil {
			errs = append(errs, field.Invalid(path.Child(t.name), t.value, "must be a time such as 22:00"))
		}
	}
	for i, day := range w.Days {
		if !slices.Contains(weekdays(), day) {
			errs = append(errs, field.NotSupported(path.Child("days").Index(i), day, weekdays()))
		}
	}
	if _, err := time.LoadLocation(w.TimeZone); err != nil {
		errs = append(errs, field.Invalid(path.Child("timeZone"), w.TimeZone, "must be the name of a time zone such as Europe/Berlin"))
	}
	return errs
}

// weekdays are the names of the days, by time.Weekday.
func weekdays() []string { return []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} }

// Weekdays are the days of a valid window.
func (w MaintenanceWindow) Weekdays() (days []time.Weekday) {
	for _, day := range w.Days {
		days = append(days, time.Weekday(slices.Index(weekdays(), day)))
	}
	return days
}

// Times are the beginning and the end of a valid window, since midnight.
func (w MaintenanceWindow) Times() (from, to time.Duration) {
	since := func(text string) time.Duration {
		t, _ := time.Parse(clockTime, text)
		return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	}
	return since(w.From), since(w.To)
}

func validateSelector(path *field.Path, text string) field.ErrorList {
	if _, err := labels.Parse(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, "must be a label selector: "+err.Error())}
	}
	return nil
}

func notNegative(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration < 0 {
		return field.ErrorList{field.Invalid(path, d, "must not be negative")}
	}
	return nil
}

func notBelowZero(path *field.Path, n int32) field.ErrorList {
	if n < 0 {
		return field.ErrorList{field.Invalid(path, n, "must not be negative")}
	}
	return nil
}
