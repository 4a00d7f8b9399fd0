package server

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
)

// The fields that ask for ports, by which metrics and log lines name them.
const (
	fieldVerbs   = "serving.listen"
	fieldHealth  = "serving.healthListen"
	fieldWebhook = "serving.webhookListen"
	fieldDebug   = "debug.listen"
)

// port is an address at which the process listens, and what is served there to whom.
type port struct {
	field, address string // the address as it is configured, "" for a port that there is not to be
	connections    int    // that may be open at a time
	guard          access.Guard
	endpoints      []inspect.Endpoint
	// elsewhere is told to those who ask for what is not served here. With "" there is an index.
	elsewhere string
	tls       *tls.Config // nil for plain http

	listener net.Listener // once it is open
}

// listen opens all ports. After an error none is open.
func (s *Server) listen() error {
	verbs, debug := s.verbsPort(), s.debugPort()
	s.ports = slices.DeleteFunc([]*port{verbs, s.healthPort(), s.webhookPort(), debug}, func(p *port) bool { return p.address == "" })
	for at, p := range s.ports {
		var err error
		if p.listener, err = access.Listen(p.field, p.address, p.connections); err != nil {
			for _, open := range s.ports[:at] {
				_ = open.listener.Close() // what matters is why
			}
			return err
		}
	}
	s.guardNames(verbs, debug)
	s.listener = verbs.listener
	s.http = &http.Server{
		Handler:           verbs.handler(s.access),
		TLSConfig:         verbs.tls,
		ReadHeaderTimeout: 10 * time.Second,
		// Longer than the 90 s after which the scheduler's client drops an idle
		// connection, so that it is never the server that closes one about to be used.
		IdleTimeout:    120 * time.Second,
		MaxHeaderBytes: access.MaxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	for _, p := range s.ports[1:] {
		listener := p.listener
		if p.tls != nil {
			listener = tls.NewListener(listener, p.tls)
		}
		s.sides = append(s.sides, access.NewServer(p.field, listener, p.handler(s.access), s.log))
	}
	return nil
}

// guardNames settles what hangs on the addresses that the ports have got.
func (s *Server) guardNames(verbs, debug *port) {
	// Elsewhere kube-scheduler may know it by any name, and what a page could do there is refused by
	// where it comes from.
	if access.IsLoopback(verbs.listener.Addr()) {
		verbs.guard.Hosts = access.NewHosts(verbs.address, verbs.listener, "", nil)
	}
	if debug.listener == nil {
		return
	}
	debug.guard.Hosts = access.NewHosts(debug.address, debug.listener, "debug.allowedHosts", s.config.Debug.AllowedHosts)
	if access.IsLoopback(debug.listener.Addr()) {
		debug.tls = nil // it is where kubectl port-forward ends, which has seen to it who comes
	}
	verbs.elsewhere = "what there is to look at is at debug.listen, " + debug.listener.Addr().String()
}

// verbsPort is for kube-scheduler, and for no web page.
func (s *Server) verbsPort() *port {
	settings := s.config.Serving
	p := &port{
		field:       fieldVerbs,
		address:     settings.Listen,
		connections: int(settings.MaxConnections),
		endpoints:   s.work(),
		elsewhere:   "debug.enabled is false",
		guard: access.Guard{
			Pages: access.NoPages, ContentTypes: []string{"application/json"},
			ClientNames: settings.TLS.AllowedClientNames, NamesField: "serving.tls.allowedClientNames",
		},
	}
	if s.certificates != nil {
		p.tls = s.certificates.forScheduler()
	}
	return p
}

// healthPort is for kubelets and Prometheus.
func (s *Server) healthPort() *port {
	return &port{
		field:       fieldHealth,
		address:     s.config.Serving.HealthListen,
		connections: access.Connections,
		endpoints:   s.health(),
		elsewhere:   "this is serving.healthListen",
		guard:       access.Guard{Pages: access.OwnPages},
	}
}

// webhookPort is for the API server.
func (s *Server) webhookPort() *port {
	settings := s.config.Serving
	p := &port{
		field:       fieldWebhook,
		address:     settings.WebhookListen,
		connections: access.Connections,
		endpoints:   s.webhook(),
		elsewhere:   "this is serving.webhookListen",
		guard: access.Guard{
			Pages: access.NoPages, ContentTypes: []string{"application/json"},
			ClientNames: settings.TLS.Webhook.AllowedClientNames, NamesField: "serving.tls.webhook.allowedClientNames",
		},
	}
	if s.certificates != nil {
		p.tls = s.certificates.forAPIServer()
	}
	return p
}

// debugPort is for people, and their browsers.
func (s *Server) debugPort() *port {
	p := &port{
		field: fieldDebug, connections: access.Connections, endpoints: slices.Concat(s.pages(), s.health(), s.about()),
		guard: access.Guard{Pages: access.OwnPages, ContentTypes: []string{"application/json", "application/yaml"}},
	}
	if s.config.Debug.Enabled {
		p.address = s.config.Debug.Listen
	}
	if s.certificates != nil {
		p.tls = s.certificates.forScheduler()
	}
	return p
}

// handler is what answers there.
func (p *port) handler(metrics *access.Metrics) http.Handler {
	p.guard.Field, p.guard.Metrics = p.field, metrics
	if p.elsewhere == "" {
		return p.guard.Handler(inspect.Router(p.endpoints...))
	}
	return p.guard.Handler(inspect.RouterWithoutIndex(p.elsewhere, p.endpoints...))
}

// DebugAddr is the address at which there is something to look at, nil when there is none.
func (s *Server) DebugAddr() net.Addr {
	for _, p := range s.ports {
		if p.field == fieldDebug {
			return p.listener.Addr()
		}
	}
	return nil
}

// announce logs where the process listens, and warns if everybody may have pods bound.
func (s *Server) announce() {
	for _, p := range s.ports {
		s.log.Info("serving", "listener", p.field, "address", p.listener.Addr().String(), "tls", p.tls != nil)
	}
	verbs := s.ports[0].listener.Addr()
	if !access.IsLoopback(verbs) && !s.config.Serving.TLS.AsksClients() {
		s.log.Warn(
			"whoever reaches the verbs may call them: listen on loopback, have clients show a certificate (serving.tls.clientCAFile or "+
				"selfManaged.clientSecretName), or let a NetworkPolicy keep others out",
			"listener",
			fieldVerbs,
			"address",
			verbs.String(),
		)
	}
}
