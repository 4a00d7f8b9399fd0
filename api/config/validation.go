package config

import (
	"net"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns everything that is wrong with a defaulted configuration. Decode has
// called it already; call it again after changing a field.
func (c *Configuration) Validate() field.ErrorList {
	errs := c.ClientConnection.validate(field.NewPath("clientConnection"))
	errs = append(errs, c.Serving.validate(field.NewPath("serving"))...)
	errs = append(errs, c.Debug.validate(field.NewPath("debug"))...)
	errs = append(errs, c.validateListeners()...)
	errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	errs = append(errs, c.Timeouts.validate(field.NewPath("timeouts"))...)
	errs = append(errs, c.Nomination.validate(field.NewPath("nomination"))...)
	errs = append(errs, c.Gangs.validate(field.NewPath("gangs"))...)
	errs = append(errs, c.Load.validate(field.NewPath("load"), c.Profiles)...)
	errs = append(errs, c.Logging.validate(field.NewPath("logging"))...)
	errs = append(errs, c.Tracing.validate(field.NewPath("tracing"))...)
	errs = append(errs, c.Rescheduler.validate(field.NewPath("rescheduler"))...)
	errs = append(errs, c.Rescheduler.validateAims(field.NewPath("rescheduler"), c.Profiles)...)
	errs = append(errs, c.Rescheduler.validateSource(field.NewPath("rescheduler"), &c.Load)...)
	errs = append(errs, validateDefaultFor(field.NewPath("profiles"), c.Profiles, c.Gangs.Kinds)...)
	return append(errs, validateProfiles(field.NewPath("profiles"), c.Profiles)...)
}

func (c ClientConnection) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.QPS <= 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), c.QPS, "must be greater than zero"))
	}
	return errs
}

func (t Tracing) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.SamplingRatePerMillion < 0 || t.SamplingRatePerMillion > 1_000_000 {
		errs = append(errs, field.Invalid(path.Child("samplingRatePerMillion"), t.SamplingRatePerMillion, "must be between 0 and 1000000"))
	}
	if t.Endpoint == "" {
		return errs
	}
	if host, port, err := net.SplitHostPort(t.Endpoint); err != nil || host == "" || port == "" {
		errs = append(errs, field.Invalid(path.Child("endpoint"), t.Endpoint, "must be host:port, such as localhost:4317"))
	}
	return errs
}

func (l LeaderElection) validate(path *field.Path) field.ErrorList {
	errs := validatePositive(path.Child("leaseDuration"), l.LeaseDuration)
	if l.LeaseDuration.Duration%time.Second != 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), l.LeaseDuration,
			"must be whole seconds: a Lease counts whole seconds, and others would take it for shorter"))
	}
	for _, message := range validation.IsDNS1123Subdomain(l.ResourceName) {
		errs = append(errs, field.Invalid(path.Child("resourceName"), l.ResourceName, message))
	}
	for _, message := range validation.IsDNS1123Label(l.ResourceNamespace) {
		errs = append(errs, field.Invalid(path.Child("resourceNamespace"), l.ResourceNamespace, message))
	}
	errs = append(errs, validateLease(path.Child("schedulerLease"), l.SchedulerLease)...)
	if l.SchedulerLease != "" && !l.LeaderElect {
		errs = append(errs, field.Invalid(path.Child("schedulerLease"), l.SchedulerLease, "needs leaderElect: true"))
	}
	return errs
}

func (t Timeouts) validate(path *field.Path) field.ErrorList {
	errs := validatePositive(path.Child("filter"), t.Filter)
	return append(errs, validatePositive(path.Child("bind"), t.Bind)...)
}

func (n Nomination) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.MinSaving.Duration < 0 {
		errs = append(
			errs,
			field.Invalid(path.Child("minSaving"), n.MinSaving.Duration.String(), "must be 0s, which is whatever is saved, or more"),
		)
	}
	return errs
}

func validateLease(path *field.Path, lease string) field.ErrorList {
	if namespace, name, _ := strings.Cut(lease, "/"); lease != "" &&
		len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return field.ErrorList{field.Invalid(path, lease, "must be namespace/name of a Lease, or empty")}
	}
	return nil
}

func (g Gangs) validate(path *field.Path) field.ErrorList {
	errs := validatePositive(path.Child("scheduleTimeout"), g.ScheduleTimeout)
	if g.MaxHoldingPerNamespace < 0 {
		errs = append(errs, field.Invalid(path.Child("maxHoldingPerNamespace"), g.MaxHoldingPerNamespace, "must not be negative; 0 is no limit"))
	}
	errs = append(errs, validateReserveAfter(path.Child("reserveAfter"), g.ReserveAfter)...)
	if g.ReserveMaxIdlePercent < 0 || g.ReserveMaxIdlePercent > 100 {
		errs = append(errs, field.Invalid(
			path.Child("reserveMaxIdlePercent"), g.ReserveMaxIdlePercent, "must be from 1 to 100, or 0, which is no limit"))
	}
	errs = append(errs, validateListed(path.Child("evict"), g.Evict)...)
	errs = append(errs, validateGangKinds(path.Child("kinds"), g.Kinds)...)
	return append(errs, validateListed(path.Child("whenShort"), g.WhenShort)...)
}

func validateReserveAfter(path *field.Path, after metav1.Duration) field.ErrorList {
	if after.Duration < 0 {
		return field.ErrorList{field.Invalid(path, after.Duration.String(), "must not be negative; 0s books no room")}
	}
	return nil
}

func validatePositive(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration <= 0 {
		return field.ErrorList{field.Invalid(path, d, "must be greater than zero")}
	}
	return nil
}
