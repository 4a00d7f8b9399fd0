package v1alpha2

import (
	"net"
	"net/netip"
	"strconv"
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
func (c *MusterConfiguration) Validate() field.ErrorList {
	errs := c.ClientConnection.validate(field.NewPath("clientConnection"))
	errs = append(errs, c.Serving.validate(field.NewPath("serving"))...)
	errs = append(errs, c.Debug.validate(field.NewPath("debug"))...)
	if c.Serving.Profiling && !c.Debug.Enabled {
		errs = append(errs, field.Invalid(field.NewPath("serving", "profiling"), true, "needs debug.enabled: it is served under /debug/"))
	}
	errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	errs = append(errs, c.Timeouts.validate(field.NewPath("timeouts"))...)
	if c.VerdictStore.MaxBytes <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("verdictStore", "maxBytes"), c.VerdictStore.MaxBytes, "must be greater than zero"))
	}
	errs = append(errs, c.Nomination.validate(field.NewPath("nomination"))...)
	errs = append(errs, c.Gangs.validate(field.NewPath("gangs"), c.Serving.TLS)...)
	errs = append(errs, c.Load.validate(field.NewPath("load"), c.Profiles)...)
	errs = append(errs, c.Tracing.validate(field.NewPath("tracing"))...)
	errs = append(errs, c.Rescheduler.validate(field.NewPath("rescheduler"))...)
	errs = append(errs, c.Rescheduler.Relieve.validateSource(field.NewPath("rescheduler", "relieve"), c.Load.Source)...)
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

func (s Serving) validate(path *field.Path) field.ErrorList {
	errs := validateListen(path.Child("listen"), s.Listen)
	if s.HealthListen != "" {
		errs = append(errs, validateListen(path.Child("healthListen"), s.HealthListen)...)
	}
	errs = append(errs, s.TLS.validate(path.Child("tls"))...)
	if s.MaxBodyBytes <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxBodyBytes"), s.MaxBodyBytes, "must be greater than zero"))
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

func (d Debug) validate(path *field.Path) field.ErrorList {
	if d.Listen == "" {
		return nil
	}
	return validateListen(path.Child("listen"), d.Listen)
}

func validateListen(path *field.Path, address string) field.ErrorList {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return field.ErrorList{field.Invalid(path, address, "must be host:port, such as 127.0.0.1:8888 or :8888")}
	}
	var errs field.ErrorList
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		errs = append(errs, field.Invalid(path, address, "the port must be a number between 0 and 65535"))
	}
	_, notIP := netip.ParseAddr(host)
	if host != "" && notIP != nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		errs = append(errs, field.Invalid(path, address, "the host must be empty, an IP address or a DNS name"))
	}
	return errs
}

func (t TLS) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.CertFile != "" && t.KeyFile == "" {
		errs = append(errs, field.Required(path.Child("keyFile"), "certFile needs the key that belongs to it"))
	}
	if t.KeyFile != "" && t.CertFile == "" {
		errs = append(errs, field.Required(path.Child("certFile"), "keyFile needs the certificate that belongs to it"))
	}
	if t.SelfManaged.Enabled() {
		if t.CertFile != "" || t.KeyFile != "" {
			errs = append(errs, field.Forbidden(path.Child("selfManaged"), "certFile and keyFile are the certificate already"))
		}
		return append(errs, t.SelfManaged.validate(path.Child("selfManaged"))...)
	}
	if t.ClientCAFile != "" && t.CertFile == "" && t.KeyFile == "" {
		errs = append(errs, field.Required(path.Child("certFile"), "clientCAFile needs https, that is certFile and keyFile, or selfManaged"))
	}
	return errs
}

func (s SelfManaged) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, required := range []struct {
		field, value string
		check        func(string) []string
	}{
		{"secretName", s.SecretName, validation.IsDNS1123Subdomain},
		{"namespace", s.Namespace, validation.IsDNS1123Label},
		{"serviceName", s.ServiceName, validation.IsDNS1123Label},
	} {
		if required.value == "" {
			errs = append(errs, field.Required(path.Child(required.field), "secretName, namespace and serviceName belong together"))
			continue
		}
		for _, message := range required.check(required.value) {
			errs = append(errs, field.Invalid(path.Child(required.field), required.value, message))
		}
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
	}
	for _, message := range validation.IsDNS1123Subdomain(l.ResourceName) {
		errs = append(errs, field.Invalid(path.Child("resourceName"), l.ResourceName, message))
	}
	for _, message := range validation.IsDNS1123Label(l.ResourceNamespace) {
		errs = append(errs, field.Invalid(path.Child("resourceNamespace"), l.ResourceNamespace, message))
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
	if n.MinBacklog <= 0 {
		errs = append(errs, field.Invalid(path.Child("minBacklog"), n.MinBacklog, "must be greater than zero"))
	}
	if n.MaxAhead <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxAhead"), n.MaxAhead, "must be greater than zero"))
	}
	if n.QPS <= 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), n.QPS, "must be greater than zero"))
	}
	return errs
}

func (g Gangs) validate(path *field.Path, tls TLS) field.ErrorList {
	errs := validatePositive(path.Child("scheduleTimeout"), g.ScheduleTimeout)
	errs = append(errs, validatePositive(path.Child("deniedTTL"), g.DeniedTTL)...)
	errs = append(errs, validateOneOf(path.Child("gates"), g.Gates, GatesNever, GatesUntilMembers, GatesUntilPlace)...)
	gatedBy := path.Child("gatedBy")
	errs = append(errs, validateOneOf(gatedBy, g.GatedBy, GatedByPolicy, GatedByWebhook)...)
	if g.GatedBy == GatedByWebhook && g.Gates != GatesNever && !tls.Enabled() {
		errs = append(errs, field.Invalid(gatedBy, g.GatedBy, "needs serving.tls: the API server calls webhooks over https alone"))
	}
	return errs
}

func validatePositive(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration <= 0 {
		return field.ErrorList{field.Invalid(path, d, "must be greater than zero")}
	}
	return nil
}
