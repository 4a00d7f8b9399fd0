package config

import (
	"net"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (s Serving) validate(path *field.Path) field.ErrorList {
	errs := validateListen(path.Child("listen"), s.Listen)
	if s.HealthListen != "" {
		errs = append(errs, validateListen(path.Child("healthListen"), s.HealthListen)...)
	}
	if s.WebhookListen != "" {
		at := path.Child("webhookListen")
		errs = append(errs, validateListen(at, s.WebhookListen)...)
		if !s.TLS.Enabled() {
			errs = append(errs, field.Invalid(at, s.WebhookListen, "needs serving.tls: the API server calls webhooks over https alone"))
		}
	}
	errs = append(errs, s.TLS.validate(path.Child("tls"))...)
	if s.WebhookListen == "" && s.TLS.Webhook.ClientCAFile != "" {
		errs = append(errs, field.Required(path.Child("webhookListen"), "tls.webhook is about who may call it"))
	}
	return errs
}

func (d Debug) validate(path *field.Path) field.ErrorList {
	if !d.Enabled() {
		return nil
	}
	errs := validateListen(path.Child("listen"), d.Listen)
	for i, host := range d.AllowedHosts {
		if _, notIP := netip.ParseAddr(host); notIP != nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
			errs = append(errs, field.Invalid(path.Child("allowedHosts").Index(i), host, "must be an IP address or a DNS name, without a port"))
		}
	}
	return errs
}

// validateListeners finds addresses that two are to listen at.
func (c *Configuration) validateListeners() (errs field.ErrorList) {
	serving := field.NewPath("serving")
	taken := map[string]*field.Path{}
	for _, listener := range []struct {
		path    *field.Path
		address string
	}{
		{serving.Child("listen"), c.Serving.Listen},
		{serving.Child("healthListen"), c.Serving.HealthListen},
		{serving.Child("webhookListen"), c.Serving.WebhookListen},
		{field.NewPath("debug", "listen"), c.Debug.Listen},
	} {
		if _, port, err := net.SplitHostPort(listener.address); err != nil || port == "0" {
			continue // a free one, or told already
		}
		if other := taken[listener.address]; other != nil {
			errs = append(errs, field.Invalid(listener.path, listener.address, "must be another address than "+other.String()))
		}
		taken[listener.address] = listener.path
	}
	return errs
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
		errs = append(errs, t.SelfManaged.validate(path.Child("selfManaged"))...)
	} else if t.ClientCAFile != "" && t.CertFile == "" && t.KeyFile == "" {
		errs = append(errs, field.Required(path.Child("certFile"), "clientCAFile needs https, that is certFile and keyFile, or selfManaged"))
	}
	return append(errs, t.validateClients(path)...)
}

// validateClients is about who may call.
func (t TLS) validateClients(path *field.Path) (errs field.ErrorList) {
	names, own := path.Child("allowedClientNames"), path.Child("selfManaged", "clientSecretName")
	if t.ClientCAFile != "" && t.SelfManaged.ClientSecretName != "" {
		errs = append(errs, field.Forbidden(own, "clientCAFile says already who signs the certificates of clients"))
	}
	switch {
	case !t.AsksClients() && len(t.AllowedClientNames) > 0:
		errs = append(
			errs,
			field.Invalid(
				names, t.AllowedClientNames, "needs clientCAFile or selfManaged.clientSecretName: nobody is asked for a name without them",
			),
		)
	case t.AsksClients() && len(t.AllowedClientNames) == 0:
		errs = append(errs, field.Required(names, "an empty list lets nobody call"))
	}
	errs = append(errs, validateClientNames(names, t.AllowedClientNames)...)
	webhook := path.Child("webhook")
	if t.Webhook.ClientCAFile == "" && len(t.Webhook.AllowedClientNames) > 0 {
		errs = append(errs, field.Required(webhook.Child("clientCAFile"), "nobody is asked for a name without it"))
	}
	return append(errs, validateClientNames(webhook.Child("allowedClientNames"), t.Webhook.AllowedClientNames)...)
}

func validateClientNames(path *field.Path, names []string) (errs field.ErrorList) {
	for i, name := range names {
		if name == "" {
			errs = append(errs, field.Invalid(path.Index(i), name, "must be a name as in a certificate, such as "+KubeScheduler))
		}
	}
	return errs
}

func (s SelfManaged) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []struct {
		field, value string
		check        func(string) []string
		required     bool
		why          string
	}{
		{"secretName", s.SecretName, validation.IsDNS1123Subdomain, true, "the certificate is kept in it"},
		{"clientSecretName", s.ClientSecretName, validation.IsDNS1123Subdomain, false, ""},
	} {
		at := path.Child(name.field)
		if name.value == "" {
			if name.required {
				errs = append(errs, field.Required(at, name.why))
			}
			continue
		}
		for _, message := range name.check(name.value) {
			errs = append(errs, field.Invalid(at, name.value, message))
		}
	}
	if s.ClientSecretName != "" && s.ClientSecretName == s.SecretName {
		errs = append(
			errs,
			field.Invalid(
				path.Child("clientSecretName"), s.ClientSecretName, "must be another Secret than secretName, which holds the keys of the authorities",
			),
		)
	}
	return errs
}
