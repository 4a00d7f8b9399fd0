package config

import (
	"net"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// renewJitter is the factor by which client-go's leader election stretches the retry
// period; it insists that the result is shorter than the renew deadline.
const renewJitter = 1.2

// Validate returns everything that is wrong with a defaulted configuration. Decode has
// called it already; call it again after changing a field.
func (c *Configuration) Validate() field.ErrorList {
	errs := c.ClientConnection.validate(field.NewPath("clientConnection"))
	errs = append(errs, c.Serving.validate(field.NewPath("serving"))...)
	errs = append(errs, c.Debug.validate(field.NewPath("debug"))...)
	errs = append(errs, c.validateListeners()...)
	if c.Serving.Profiling && !c.Debug.Enabled {
		errs = append(errs, field.Invalid(field.NewPath("serving", "profiling"), true, "needs debug.enabled: it is served under /debug/"))
	}
	errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	errs = append(errs, c.Timeouts.validate(field.NewPath("timeouts"))...)
	if c.VerdictStore.MaxBytes <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("verdictStore", "maxBytes"), c.VerdictStore.MaxBytes, "must be greater than zero"))
	}
	errs = append(errs, c.Nomination.validate(field.NewPath("nomination"))...)
	errs = append(errs, c.Ahead.validate(field.NewPath("ahead"))...)
	errs = append(errs, c.Gangs.validate(field.NewPath("gangs"))...)
	errs = append(errs, c.Load.validate(field.NewPath("load"), c.Profiles)...)
	errs = append(errs, c.Logging.validate(field.NewPath("logging"))...)
	errs = append(errs, c.Tracing.validate(field.NewPath("tracing"))...)
	errs = append(errs, c.Rescheduler.validate(field.NewPath("rescheduler"))...)
	errs = append(errs, c.Rescheduler.validateAims(field.NewPath("rescheduler"), c.Profiles)...)
	errs = append(errs, c.Rescheduler.validateSource(field.NewPath("rescheduler"), &c.Load)...)
	return append(errs, validateProfiles(field.NewPath("profiles"), c.Profiles)...)
}

func (c ClientConnection) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.QPS <= 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), c.QPS, "must be greater than zero"))
	}
	if c.Burst <= 0 {
		errs = append(errs, field.Invalid(path.Child("burst"), c.Burst, "must be greater than zero"))
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
	errs = append(errs, validatePositive(path.Child("renewDeadline"), l.RenewDeadline)...)
	errs = append(errs, validatePositive(path.Child("retryPeriod"), l.RetryPeriod)...)
	if len(errs) == 0 {
		if l.RenewDeadline.Duration >= l.LeaseDuration.Duration {
			errs = append(errs, field.Invalid(path.Child("renewDeadline"), l.RenewDeadline,
				"must be shorter than leaseDuration, which is "+l.LeaseDuration.Duration.String()))
		}
		longest := time.Duration(renewJitter * float64(l.RetryPeriod.Duration))
		if longest >= l.RenewDeadline.Duration {
			errs = append(errs, field.Invalid(path.Child("retryPeriod"), l.RetryPeriod,
				"must, times 1.2, be shorter than renewDeadline, which is "+l.RenewDeadline.Duration.String()))
		}
		if l.LeaseDuration.Duration%time.Second != 0 {
			errs = append(errs, field.Invalid(path.Child("leaseDuration"), l.LeaseDuration,
				"must be whole seconds: a Lease counts whole seconds, and others would take it for shorter"))
		}
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
	errs = append(errs, validatePositive(path.Child("bind"), t.Bind)...)
	errs = append(errs, validatePositive(path.Child("assume"), t.Assume)...)
	return append(errs, validatePositive(path.Child("shutdown"), t.Shutdown)...)
}

func (n Nomination) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.MinSaving.Duration < 0 {
		errs = append(
			errs,
			field.Invalid(path.Child("minSaving"), n.MinSaving.Duration.String(), "must be 0s, which is whatever is saved, or more"),
		)
	}
	if n.MaxAhead <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxAhead"), n.MaxAhead, "must be greater than zero"))
	}
	if n.QPS <= 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), n.QPS, "must be greater than zero"))
	}
	return errs
}

// maxMargin bounds how long a gang that has its places is kept from starting.
const maxMargin = 10 * time.Second

func (a Ahead) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if a.Margin.Duration < 0 || a.Margin.Duration > maxMargin {
		errs = append(errs, field.Invalid(path.Child("margin"), a.Margin, "must be from 0s to "+maxMargin.String()))
	}
	return append(errs, validateLease(path.Child("schedulerLease"), a.SchedulerLease)...)
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
	if g.MaxScheduleTimeout.Duration < g.ScheduleTimeout.Duration {
		errs = append(errs, field.Invalid(path.Child("maxScheduleTimeout"), g.MaxScheduleTimeout,
			"must not be shorter than scheduleTimeout, which is "+g.ScheduleTimeout.Duration.String()))
	}
	if g.MaxMembers <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxMembers"), g.MaxMembers, "must be greater than zero"))
	}
	if g.MaxHoldingPerNamespace < 0 {
		errs = append(errs, field.Invalid(path.Child("maxHoldingPerNamespace"), g.MaxHoldingPerNamespace, "must not be negative; 0 is no limit"))
	}
	if g.MaxGapPercent < 0 || g.MaxGapPercent > 100 {
		errs = append(errs, field.Invalid(path.Child("maxGapPercent"), g.MaxGapPercent, "must be from 0 to 100"))
	}
	errs = append(errs, validatePositive(path.Child("deniedTTL"), g.DeniedTTL)...)
	if g.PreemptAfter.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("preemptAfter"), g.PreemptAfter.Duration.String(), "must not be negative; 0 is never"))
	}
	errs = append(errs, validateOneOf(path.Child("whenShort"), g.WhenShort, WhenShortFinish, WhenShortWait, WhenShortBreak)...)
	errs = append(errs, validateGangKinds(path.Child("kinds"), g.Kinds)...)
	return append(errs, validatePositive(path.Child("breakAfter"), g.BreakAfter)...)
}

func validatePositive(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration <= 0 {
		return field.ErrorList{field.Invalid(path, d, "must be greater than zero")}
	}
	return nil
}
