package server

import (
	"net"
	"net/http"
	"slices"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/admission"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/console"
)

// The fields that ask for ports, by which metrics and log lines name them.
const (
	fieldVerbs   = "serving.listen"
	fieldHealth  = "serving.healthListen"
	fieldWebhook = "serving.webhookListen"
	fieldDebug   = console.FieldDebug
)

// served answers requests.
type served struct {
	verbs    []inspect.Endpoint
	webhooks *admission.Webhooks
	health   *console.Health
	pages    *console.Console
}

// work answers kube-scheduler, and says whether it can be called.
func (s *served) work() []inspect.Endpoint {
	return slices.Concat(s.verbs, s.health.Alive(), s.health.About())
}

// webhook answers the API server.
func (s *served) webhook() []inspect.Endpoint {
	return []inspect.Endpoint{
		{
			Method: http.MethodPost, Pattern: "/webhook/gates", About: "the API server asks for the scheduling gate of a pod that is created",
			Handler: s.webhooks.Members,
		},
		{
			Method: http.MethodPost, Pattern: "/webhook/ahead",
			About:   "the API server asks for the scheduling gate of a pod of no group that is created and opted in",
			Handler: s.webhooks.Ahead,
		},
		{
			Method: http.MethodPost, Pattern: "/webhook/scheduler/{" + admission.ParameterScheduler + "}",
			About:   "the API server asks for the schedulerName of a pod that is created and names none",
			Handler: s.webhooks.Assigner,
		},
	}
}

// debug answers people.
func (s *served) debug() []inspect.Endpoint {
	return slices.Concat(s.pages.Endpoints(), profiling(), s.health.Endpoints(), s.health.About())
}

// maxConnections is how many connections may be open to the verbs at a time. Without TLS each bind that is held has one of
// its own, and the largest gang has 10,000 members.
const maxConnections = 10_000

// open opens the ports that the configuration asks for, that of the verbs first. After an error none is open.
func open(b *base, h *https, s *served) ([]*app.Port, error) {
	serving := &b.Config.Serving
	listeners, err := app.Open(b.around.listen,
		app.Address{Field: fieldVerbs, Address: serving.Listen, Connections: maxConnections},
		app.Address{Field: fieldHealth, Address: serving.HealthListen, Connections: access.Connections},
		app.Address{Field: fieldWebhook, Address: serving.WebhookListen, Connections: access.Connections},
		app.Address{Field: fieldDebug, Address: b.Config.Debug.Listen, Connections: access.Connections},
	)
	if err != nil {
		return nil, err
	}
	ports := []*app.Port{verbsPort(b, h, s, listeners)}
	if listener := listeners[fieldHealth]; listener != nil {
		ports = append(ports, healthPort(s, listener))
	}
	if listener := listeners[fieldWebhook]; listener != nil {
		ports = append(ports, webhookPort(b, h, s, listener))
	}
	if listener := listeners[fieldDebug]; listener != nil {
		ports = append(ports, debugPort(b, h, s, listener))
	}
	return ports, nil
}

// verbsPort is for kube-scheduler, and for no web page.
func verbsPort(b *base, h *https, s *served, listeners map[string]net.Listener) *app.Port {
	settings := &b.Config.Serving
	p := &app.Port{
		Field: fieldVerbs, Listener: listeners[fieldVerbs], Endpoints: s.work(), Elsewhere: "debug.listen is empty", TLS: h.forScheduler(),
		Guard: access.Guard{
			Pages: access.NoPages, ContentTypes: []string{"application/json"},
			ClientNames: settings.TLS.AllowedClientNames, NamesField: "serving.tls.allowedClientNames",
		},
	}
	// Elsewhere kube-scheduler may know it by any name, and what a page could do there is refused by
	// where it comes from.
	if access.IsLoopback(p.Listener.Addr()) {
		p.Guard.Hosts = access.NewHosts(settings.Listen, p.Listener, "", nil)
	}
	if debug := listeners[fieldDebug]; debug != nil {
		p.Elsewhere = "what there is to look at is at debug.listen, " + debug.Addr().String()
	}
	return p
}

// healthPort is for kubelets and Prometheus.
func healthPort(s *served, listener net.Listener) *app.Port {
	return &app.Port{
		Field: fieldHealth, Listener: listener, Endpoints: s.health.Endpoints(), Elsewhere: "this is serving.healthListen",
		Guard: access.Guard{Pages: access.OwnPages},
	}
}

// webhookPort is for the API server.
func webhookPort(b *base, h *https, s *served, listener net.Listener) *app.Port {
	return &app.Port{
		Field: fieldWebhook, Listener: listener, Endpoints: s.webhook(), Elsewhere: "this is serving.webhookListen", TLS: h.forAPIServer(),
		Guard: access.Guard{
			Pages: access.NoPages, ContentTypes: []string{"application/json"},
			ClientNames: b.Config.Serving.TLS.Webhook.AllowedClientNames, NamesField: "serving.tls.webhook.allowedClientNames",
		},
	}
}

// debugPort is for people, and their browsers.
func debugPort(b *base, h *https, s *served, listener net.Listener) *app.Port {
	settings := &b.Config.Debug
	p := &app.Port{
		Field: fieldDebug, Listener: listener, Endpoints: s.debug(), TLS: h.forScheduler(),
		Guard: access.Guard{
			Pages: access.OwnPages, ContentTypes: []string{"application/json", "application/yaml"},
			Hosts: access.NewHosts(settings.Listen, listener, "debug.allowedHosts", settings.AllowedHosts),
		},
	}
	if access.IsLoopback(listener.Addr()) {
		p.TLS = nil // it is where kubectl port-forward ends, which has seen to it who comes
	}
	return p
}
